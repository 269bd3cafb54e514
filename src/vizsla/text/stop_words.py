"""Words that carry grammar rather than meaning, by language; with the pieces that an apostrophe leaves."""

from __future__ import annotations

_LISTS = {
    "english": """
        a an the this that these those i me my mine myself we us our ours ourselves you your yours
        yourself yourselves he him his himself she her hers herself it its itself they them their
        theirs themselves who whom whose which what am is are was were be been being have has had
        having do does did doing will would shall should can could may might must and or but nor if
        then else than so because as while although though unless until whether of at by for with
        about against between into through during before after above below to from up down in out on
        off over under upon within without among per via again further once here there when where
        why how all any both each few more most other another some such no not only own same too
        very just also ever s t d m ll re ve don doesn didn isn aren wasn weren hasn haven hadn won
        wouldn shouldn couldn mustn needn ain
    """,
    "german": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner
        keines dieser diese dieses diesen diesem jener jene jenes jenen jenem jeder jede jedes jeden
        jedem mancher manche manches solcher solche solches welcher welche welches welchen welchem
        ich mich mir mein meine meinen meinem meiner meines du dich dir dein deine deinen deinem
        deiner deines er ihn ihm sein seine seinen seinem seiner seines sie ihr ihre ihren ihrem
        ihrer ihres es wir uns unser unsere unseren unserem unserer euch euer eure euren eurem ihnen
        sich man wer wen wem wessen was bin bist ist sind seid war warst waren wart wäre wären
        gewesen habe hast hat haben habt hatte hatten hätte hätten gehabt werde wirst wird werden
        werdet wurde wurden würde würden worden kann kannst können könnt konnte konnten könnte
        könnten muss müssen musste mussten soll sollen sollte sollten will wollen wollte wollten
        darf dürfen durfte mag mögen möchte und oder aber denn sondern weil wenn als ob dass damit
        obwohl während bevor nachdem sowie in im an am auf aus bei beim bis durch für gegen mit nach
        ohne seit über um unter von vom vor zu zum zur zwischen hinter neben nicht nichts auch noch
        nur schon sehr so wie wo wann warum dann da dort hier hin her etwas alle allem allen aller
        alles viel viele mehr sonst doch nun also einmal selbst ins
    """,
    "french": """
        le la les l un une des du de d ce cet cette ces mon ma mes ton ta tes son sa ses notre nos
        votre vos leur leurs je j me m moi tu te t toi il elle on se s soi nous vous ils elles lui
        eux y en qui que qu quoi dont où quel quelle quels quelles lequel laquelle lesquels
        lesquelles c ça cela ceci celui celle ceux celles suis es est sommes êtes sont étais était
        étions étiez étaient sera seront serait seraient soit soient été être ai as a avons avez ont
        avais avait avions aviez avaient aura auront aurait auraient ait aient eu avoir et ou mais
        donc or ni car si comme quand lorsque puisque parce à au aux dans par pour sur sous avec
        sans entre vers chez contre depuis pendant jusque ne n pas plus très aussi même mêmes tout
        toute tous toutes autre autres encore alors ainsi là ici
    """,
    "spanish": """
        el la los las lo un una unos unas al del este esta estos estas ese esa esos esas aquel
        aquella aquellos aquellas esto eso aquello yo me mí mi mis tú te ti tu tus él ella ello le
        les se sí su sus nosotros nosotras nos nuestro nuestra nuestros nuestras vosotros vosotras
        os vuestro vuestra vuestros vuestras ellos ellas usted ustedes que qué quien quién quienes
        cual cuál cuales cuyo cuya soy eres es somos sois son era eras éramos eran fui fue fueron
        será serán sería sea sean sido ser estoy estás está estamos están estaba estaban estar he
        has ha hemos han había habían haber hay y e o u pero sino ni si porque pues aunque como cómo
        cuando cuándo mientras donde dónde a ante bajo con contra de desde durante en entre hacia
        hasta para por según sin sobre tras no más menos muy ya también tampoco tan tanto todo toda
        todos todas otro otra otros otras algo alguno alguna algunos algunas nada cada mismo misma
    """,
    "italian": """
        il lo la i gli le l un uno una questo questa questi queste quello quella quelli quelle quel
        quei io mi me mio mia miei mie tu ti te tuo tua tuoi tue egli lui lei esso essa si sé suo
        sua suoi sue noi ci nostro nostra nostri nostre voi vi vostro vostra vostri vostre essi esse
        loro ne che chi cui quale quali sono sei è siamo siete era eri eravamo erano fu furono sarà
        saranno sarebbe sia siano stato stata stati state essere ho hai ha abbiamo avete hanno aveva
        avevano avrà avrebbe abbia abbiano avuto avere e ed o od ma se perché come quando mentre
        dove anche né però a ad al allo alla ai agli alle all di del dello della dei degli delle
        dell d da dal dallo dalla dai dagli dalle dall in nel nello nella nei negli nelle nell con
        col su sul sullo sulla sui sugli sulle sull per tra fra non più molto già così tutto tutta
        tutti tutte altro altra altri altre ogni c
    """,
    "dutch": """
        de het een deze die dit dat ik me mij mijn je jij jou jouw u uw hij hem zijn ze zij haar we
        wij ons onze jullie hen hun zich wie wat welke welk men ben bent is was waren geweest heb
        hebt heeft hebben had hadden gehad word wordt worden werd werden geworden zal zult zullen
        zou zouden kan kunt kunnen kon konden moet moeten moest moesten mag mogen mocht wil willen
        wilde doen doet deed en of maar want omdat als dan toen terwijl hoewel indien aan af bij
        binnen boven buiten door in langs met na naar naast om onder op over per sinds te tegen tot
        tussen uit van via voor zonder niet geen niets iets ook nog al alle alles meer zeer zo hoe
        waar wanneer waarom er daar hier nu dus toch ander andere zelf veel
    """,
    "portuguese": """
        o a os as um uma uns umas este esta estes estas esse essa esses essas aquele aquela aqueles
        aquelas isto isso aquilo eu me mim meu minha meus minhas tu te ti teu tua teus tuas ele ela
        lhe lhes se si seu sua seus suas nós nos nosso nossa nossos nossas vós vos você vocês eles
        elas que quem qual quais cujo cuja sou és é somos são era eras éramos eram fui foi foram
        será serão seria seja sejam sido ser estou está estamos estão estava estavam estar tenho tem
        temos têm tinha tinham ter hei há havia haver e ou mas nem porque pois embora como quando
        enquanto onde ao aos à às de do da dos das em no na nas num numa por pelo pela pelos pelas
        para com sem sob sobre entre até desde contra após não mais menos muito já também tão tanto
        tudo todo toda todos todas outro outra outros outras algum alguma alguns algumas nada cada
        mesmo mesma só ainda
    """,
    "swedish": """
        en ett den det de denna detta dessa jag mig min mitt mina du dig din ditt dina han honom
        hans hon henne hennes sin sitt sina vi oss vår vårt våra ni er ert era dem deras man sig som
        vem vad vilken vilket vilka vars är var varit vara har hade haft ha blir blev blivit bli ska
        skall skulle kan kunde kunna måste vill ville får fick göra gör gjorde och eller men utan
        för så att om när medan då eftersom än innan i på av till från med mot mellan under över vid
        genom hos efter före ur utom åt inte ej icke också bara mycket mer mest alla allt någon
        något några ingen inget inga sådan sådant sådana här där hur varför själv nu redan
    """,
    "danish": """
        en et den det de denne dette disse jeg mig min mit mine du dig din dit dine han ham hans hun
        hende hendes sin sit sine vi os vor vort vore vores i jer jeres dem deres man sig som hvem
        hvad hvilken hvilket hvilke hvis er var været være har havde haft have bliver blev blevet
        blive skal skulle kan kunne må måtte vil ville få får fik gør gjorde og eller men for så at
        om når mens da fordi end før på af til fra med mod mellem under over ved gennem hos efter
        uden ad ikke også kun meget mere mest alle alt nogen noget nogle ingen intet sådan her der
        hvor hvordan hvorfor selv nu jo
    """,
    "norwegian": """
        en ei et den det de denne dette disse jeg meg min mi mitt mine du deg din ditt dine han ham
        hans hun henne hennes sin sitt sine vi oss vår vårt våre dere deres dem man seg som hvem hva
        hvilken hvilket hvilke er var vært være har hadde hatt ha blir ble blitt bli skal skulle kan
        kunne må måtte vil ville få får fikk gjør gjorde og eller men for så at om når mens da fordi
        enn før i på av til fra med mot mellom under over ved gjennom hos etter uten ikke også bare
        mye mer mest alle alt noen noe ingen intet slik her der hvor hvordan hvorfor selv nå jo
    """,
    "russian": """
        я меня мне мной мой моя моё мое мои ты тебя тебе тобой твой твоя твоё твое твои он его ему
        им нём нем она её ее ей ней оно мы нас нам нами наш наша наше наши вы вас вам вами ваш ваша
        ваше ваши они их ними них себя себе собой свой своя своё свое свои этот эта это эти этого
        этой этому этим этих тот та то те того той тому тем тех такой такая такое такие который
        которая которое которые кто кого кому кем что чего чему чем чей был была было были быть
        будет будут есть нет может можно надо и а но или да же ли бы если когда пока потому поэтому
        чтобы хотя как так где куда откуда зачем почему в во на с со к ко о об от по за из у до для
        при про под над без через между перед не ни уже ещё еще только даже лишь очень тоже также
        вот тут там здесь теперь тогда всё все весь вся всех всем сам сама само сами более меньше
        другой
    """,
    "arabic": """
        في من على إلى عن مع هذا هذه ذلك تلك التي الذي الذين اللذان اللتان ما لا لم لن إن أن أو ثم قد
        كان كانت كانوا يكون تكون ليس ليست هو هي هم هن نحن أنا أنت أنتم كل بعض غير بين حتى إذا لو كما
        عند بعد قبل منذ حيث أي أين كيف متى لماذا هل بل لكن لقد فيه فيها منه منها به بها له لها لهم
        عليه عليها إليه هناك هنا خلال دون أكثر جدا
    """,
    "czech": """
        a i nebo ale že aby když kdyby protože jako než co kdo který která které kteří jaký jaká
        jaké ten ta to ti ty tento tato toto tyto já mě mi tě on ona ono my nás vy vás oni jich jim
        jeho její jejich můj má mé svůj svou své se si je jsem jsi jsme jste jsou byl byla bylo byli
        být bude budou není v ve na do z ze s k ke o od po pro při přes před mezi bez u za pod nad
        ani také jen už ještě velmi více zde tam kde kdy jak proč tak
    """,
    "finnish": """
        ja tai mutta että jos kun koska kuin niin ei en et emme ette eivät on ovat oli olivat olen
        olet olemme olla ollut se sen sitä siinä siitä ne niiden niitä tämä tämän tätä tässä nämä
        näiden tuo tuon minä minun minut minua sinä sinun hän hänen me meidän te teidän he heidän
        joka jonka jota jossa josta jotka joiden mikä mitä missä mistä kuka ketä myös vain vielä jo
        nyt sitten siellä täällä ovatko ollaan kanssa ilman ennen jälkeen
    """,
    "greek": """
        ο η το οι τα του τησ των τον την τουσ τισ στο στη στην στον στα στουσ στισ ένα ένασ μια μία
        ενόσ και ή αλλά όμωσ αν ότι που πωσ να θα δεν μην μη με σε από για προσ κατά μετά πριν χωρίσ
        μέχρι ωσ όπωσ όταν γιατί επειδή ενώ αυτό αυτή αυτόσ αυτά αυτοί αυτών εγώ εσύ εμείσ εσείσ μου
        σου μασ σασ είναι ήταν είμαι είσαι είμαστε έχει έχουν είχε είχαν έχω πολύ πιο εδώ εκεί πού
        πώσ τι ποιοσ ποια ποιο κάθε όλα όλοι
    """,
    "hindi": """
        का के की को में से है हैं था थे थी हो होता होती होते और या एक यह ये वह वे इस उस इन उन इसके
        उसके इसकी उसकी पर ने तो भी ही कि जो जब तब तक साथ लिए कर करने करना करते किया गया गई गए कुछ
        कोई सब अपने अपनी अपना मैं हम तुम आप मेरा मेरे मेरी हमारे क्या कौन कब कहाँ कैसे क्यों नहीं न
        बहुत अब यहाँ वहाँ फिर लेकिन अगर द्वारा बाद पहले
    """,
    "hungarian": """
        a az egy és vagy de hogy ha mert mint nem ne is csak már még meg el ki be fel le ez ezt
        ennek ezek azt annak azok én engem te téged ő őt mi minket ti ők volt voltak van vannak
        vagyok vagyunk lesz lenne legyen aki akik amely amelyek ami amit mely melyek mit milyen hol
        hogyan mikor miért itt ott nagyon minden sem való által szerint után előtt között alatt
        felett nélkül majd pedig illetve így úgy
    """,
    "indonesian": """
        yang dan di ke dari untuk pada dengan adalah ini itu atau juga tidak bukan akan telah sudah
        belum sedang dapat bisa harus oleh sebagai dalam antara karena jika kalau maka bahwa agar
        saat ketika sebelum sesudah setelah seperti saya aku kamu anda dia ia kami kita mereka nya
        ada apa siapa mana kapan bagaimana mengapa hanya lebih sangat para sebuah seorang tersebut
        lagi pun tetapi namun hingga sampai secara
    """,
    "polish": """
        i w we na z ze do od po za o u przy przez dla bez pod nad przed między oraz lub albo ale że
        żeby aby gdy kiedy jeśli bo ponieważ jak niż co kto który która które którzy których jaki
        jaka jakie ten ta to ci te tego tej tym tych ja mnie mi ty ciebie on ona ono my nas wy oni
        one jego jej ich się jest są był była było były być będzie będą nie tak też także tylko już
        jeszcze bardzo więcej tu tam gdzie dlaczego czy mój swój swoje
    """,
    "romanian": """
        și şi sau dar că să dacă când pentru în din de la cu pe prin după până fără între sub peste
        către un o unui unei unor al ai ale cel cea cei cele acest această acești aceste acel acea
        acei eu mă mine tu te tine el ea noi vă ne voi ei ele lui lor meu mea mei este sunt eram era
        erau fi fost va vor am are avem aveți au nu mai foarte doar tot toate toți care ce cine cum
        unde atunci aici acolo ca
    """,
    "turkish": """
        ve veya ya da de ile için ama fakat ancak ki gibi kadar daha en çok az bir bu şu o bunlar
        şunlar onlar ben sen biz siz beni seni onu bizi sizi bana sana ona benim senin onun bizim
        sizin kendi ne neden niçin nasıl nerede kim hangi her bütün tüm hiç değil var yok olan
        olarak oldu olduğu olduğunu olmak eder etti mi mı mu mü ise eğer çünkü sonra önce göre karşı
        arasında üzerinde şey bazı diye bile
    """,
    "vietnamese": """
        và của là các một có cho được những trong không với này đã khi từ đến về như để ra còn cũng
        bị vào ở tại theo trên sau trước hơn nhất nào gì ai đâu bao nhiêu sao thế nên vì do bởi nếu
        thì mà hay hoặc nhưng đó đây kia ấy tôi bạn họ chúng ta nó mình sẽ đang rất lại chỉ cùng giữa
        qua rằng mỗi mọi vẫn đều
    """,
}

STOP_WORDS: dict[str, tuple[str, ...]] = {language: tuple(words.split()) for language, words in _LISTS.items()}
"""The built-in lists: plain function words, lower-cased as texts are."""
