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
}

STOP_WORDS: dict[str, tuple[str, ...]] = {language: tuple(words.split()) for language, words in _LISTS.items()}
"""The built-in lists: plain function words, lower-cased as texts are."""
