"""Detect the languages of texts from function words and letters; stop words by language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.core.strings import Strings
from vizsla.text.stemming import UNSPACED

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

LANGUAGES = tuple(sorted({*STOP_WORDS, *UNSPACED}))
"""The languages that can be told apart: those with a list of function words, or with a script without spaces."""
WORD_VOTES = 240
"""What a function word of one language says for it; a word of n languages says an n-th for each."""
MIN_VOTES = WORD_VOTES
"""What an item must say for its language to count."""
MIN_VOTES_OF_QUERY = WORD_VOTES // 4
"""What a query must say: it is short, and only languages of its catalog are in question."""
MIN_LEAD = 1.5
"""How many times more it must say for it than for the next."""
MIN_ITEM_SHARE = 0.02
"""What share of the items a further language must have."""
MIN_DISTINCT_WORDS = 3
"""How many different words must speak for a language."""
MAX_CONTENT_SHARE = 0.1
"""How common a language's stop word must be in another, relative to its own, to be a word that people search there."""
MIN_DISTINCT_WORDS_LEANING = 2
"""How many must speak for one to which a catalog only leans."""
DEFAULT_LANGUAGE = "english"
"""What a catalog is taken for that says nothing of its language."""
MAX_FOREIGN_RATIO = 0.1
"""How many words with other letters such a catalog may have, for each that has none."""

TELLING_LETTERS = {
    "ß": "german", "ñ": "spanish", "¿": "spanish", "ãõ": "portuguese", "łżśźćń": "polish", "řůě": "czech",
    "őű": "hungarian", "ğı": "turkish", "țșă": "romanian", "œ": "french", "ìò": "italian",
    "ä": "german finnish swedish", "ö": "german finnish hungarian swedish turkish", "ü": "german hungarian turkish",
    "å": "danish norwegian swedish", "øæ": "danish norwegian", "ê": "french portuguese",
    "çâ": "french portuguese turkish",
    "è": "french italian", "à": "french italian portuguese", "ù": "french italian",
    "ş": "turkish", "î": "french romanian",
    "ąę": "polish", "č": "czech", "šž": "czech", "ý": "czech", "ô": "french portuguese",
    "đơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ": "vietnamese",
}  # fmt: skip
"""Letters that tell languages of the Latin script apart."""
TELLING_LETTER = re.compile(f"[{''.join(TELLING_LETTERS)}]")
SCRIPTS = {"arabic": (0x600, 0x6FF), "greek": (0x370, 0x3FF), "hindi": (0x900, 0x97F), "russian": (0x400, 0x4FF)}
OTHER_SCRIPTS = frozenset({*SCRIPTS, *UNSPACED})
"""Languages that are not written in Latin letters."""
FOREIGN_LETTERS = frozenset("پچژگکیٹڈڑںےہіїєґўјљњћђџѓќѕळ")
"""Letters of these scripts that these languages do not use: Persian, Urdu, Ukrainian, Serbian and others do."""
SCRIPT_VOTES = (
    (0x0E00, 0x0E7F, {"thai": 3}), (0x1100, 0x11FF, {"korean": 3}), (0x3040, 0x30FF, {"japanese": 3}),
    (0x3400, 0x4DBF, {"chinese": 3, "japanese": 2}), (0x4E00, 0x9FFF, {"chinese": 3, "japanese": 2}),
    (0xAC00, 0xD7AF, {"korean": 3}),
)  # fmt: skip
"""Characters of scripts without spaces, and what a token that begins with one says, in eightieths of a function word:
little, for there are many. Chinese characters are written in Japanese too, beside others that are not Chinese."""
MAX_INT32 = 2**31 - 1
NO_VOTES = np.zeros(len(LANGUAGES), np.int32)
"""What a word says that tells nothing."""

Table = tuple[NDArray[np.int32], NDArray[np.int32]]


def evidence_of(surface: Strings) -> Table:
    """Return the row of weights that each form has (-1 for none), and the weights, a column for each of LANGUAGES.

    Examples
    --------
    >>> rows, weights = evidence_of(Strings.of(["the", "fig"]))
    >>> rows.tolist(), int(weights[0, LANGUAGES.index("english")])
    ([0, -1], 240)
    """
    row_of_form = np.full(len(surface), -1, np.int32)
    words = list(_function_words())
    numbers = surface.find_all(words)
    known = np.flatnonzero(numbers >= 0)
    rows = [_function_words()[words[place]] for place in known.tolist()]
    row_of_form[numbers[known]] = np.arange(len(known), dtype=np.int32)
    row_of_letters: dict[str, int] = {}
    others = _beyond_ascii(surface)
    others = others[row_of_form[others] < 0]
    for number, form in zip(others.tolist(), surface.take(others.astype(np.int32)), strict=True):
        if letters := _telling_letters(form):
            row_of_form[number] = row_of_letters.setdefault(letters, len(known) + len(row_of_letters))
    rows += map(_said_by_letters, row_of_letters)
    starts = _first_characters(surface)
    for first, last, shares in SCRIPT_VOTES:
        numbers = np.flatnonzero((starts >= first) & (starts <= last) & (row_of_form < 0))
        if len(numbers):
            row_of_form[numbers] = len(rows)
            rows.append(_said_by_character(shares))
    return row_of_form, np.array(rows, np.int32).reshape(len(rows), len(LANGUAGES))


@lru_cache(maxsize=16_384)
def said_by(word: str) -> NDArray[np.int32]:
    """Return what one word says for each of LANGUAGES, as `evidence_of` has it. The array is shared: do not change it.

    Examples
    --------
    >>> int(said_by("the")[LANGUAGES.index("english")]), int(said_by("fig").max())
    (240, 0)
    """
    if (weights := _function_words().get(word)) is not None:
        return weights
    written = word.encode("utf-8", "replace")
    if written and max(written) >= 0xC3 and written[0] < 0xE1 and (letters := _telling_letters(word)):
        return _said_by_letters(letters)
    start = ord(word[0]) if word else 0
    return next((weights for first, last, weights in _characters() if first <= start <= last), NO_VOTES)


def clear_language(words: Iterable[str], languages: tuple[str, ...]) -> int:
    """Return the place of the language that a query's words clearly speak for, among these; -1 where none is clear.

    Examples
    --------
    >>> both = "german", "english"
    >>> clear_language(["what", "is", "a", "haus"], both), clear_language(["haus"], both)
    (1, -1)
    """
    said = [0] * len(languages)
    for word in words:
        for place, amount in _said_among(word, languages):
            said[place] += amount
    first = max(said, default=0)
    if first < MIN_VOTES_OF_QUERY:
        return -1
    best = said.index(first)
    said[best] = 0
    return best if first >= MIN_LEAD * max(said) else -1


@lru_cache(maxsize=16_384)
def _said_among(word: str, languages: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Return what a word says for each of these languages, without zeros, as pairs of a place and an amount."""
    said = said_by(word)
    if said is NO_VOTES:
        return ()
    amounts = ((place, int(said[LANGUAGES.index(language)])) for place, language in enumerate(languages))
    return tuple((place, amount) for place, amount in amounts if amount)


def telling_words(table: Table) -> NDArray[np.int64]:
    """Return how many distinct forms speak for each of LANGUAGES, by what `evidence_of` gave.

    Examples
    --------
    >>> int(telling_words(evidence_of(Strings.of(["the", "fig", "and"])))[LANGUAGES.index("english")])
    2
    """
    row_of_form, weights = table
    forms = np.bincount(row_of_form[row_of_form >= 0], minlength=len(weights))
    return np.asarray(forms @ (weights > 0), np.int64)


def languages_of(evidence: NDArray[np.int32], telling: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the languages of a catalog, the most common first, from what each item says for each of LANGUAGES.

    `telling` counts the distinct words that speak for each: one that is often repeated may be a name.

    Examples
    --------
    >>> said = np.zeros((3, len(LANGUAGES)), np.int32)
    >>> said[0, LANGUAGES.index("german")] = 3 * WORD_VOTES
    >>> languages_of(said, np.full(len(LANGUAGES), 5))
    ('german',)
    """
    voters = evidence if len(evidence) else np.zeros((1, len(LANGUAGES)), np.int32)
    best, strength, clear = _clear(voters)
    if not clear.any():
        best, strength, clear = _clear(
            np.clip(voters.sum(axis=0, dtype=np.int64), -MAX_INT32, MAX_INT32).astype(np.int32)
        )
    votes = np.bincount(best[clear], minlength=len(LANGUAGES))
    said = np.bincount(best[clear], weights=strength[clear], minlength=len(LANGUAGES))
    found = np.flatnonzero(
        (votes > 0)
        & (votes >= MIN_ITEM_SHARE * votes.sum())
        & (said >= 2 * WORD_VOTES)
        & (telling >= MIN_DISTINCT_WORDS)
    )
    return tuple(LANGUAGES[n] for n in sorted(found.tolist(), key=lambda n: (-votes[n], -said[n], n)))


def leaning(table: Table, surface: Strings) -> str | None:
    """Return the language to which a catalog leans that says too little for a decision, or None.

    It is the one that most of its distinct forms speak for, two at least, by what `evidence_of` gave. Where none is,
    and next to all letters are ASCII, it is English, whose inflections are few and seldom those of other languages.

    Examples
    --------
    >>> surface = Strings.of(["fig", "trees"])
    >>> leaning(evidence_of(surface), surface)
    'english'
    """
    row_of_form, weights = table
    # A letter of a script says no more than that: Ukrainian would lean to Russian.
    able = (telling_words(table) >= MIN_DISTINCT_WORDS_LEANING) & np.array(
        [language not in SCRIPTS for language in LANGUAGES]
    )
    said = weights[row_of_form[row_of_form >= 0]].sum(axis=0, dtype=np.int64) * able
    best, first, second = (
        n[0] for n in _native.strongest(np.clip(said, -MAX_INT32, MAX_INT32).astype(np.int32), len(LANGUAGES))
    )
    if first > 0 and first >= MIN_LEAD * second:
        return LANGUAGES[int(best)]
    undecided = said[LANGUAGES.index(DEFAULT_LANGUAGE)] == max(first, 0)
    return DEFAULT_LANGUAGE if undecided and _written_in_ascii(surface) else None


def _written_in_ascii(surface: Strings) -> bool:
    """Whether there are words in plain Latin letters, and next to no others of scripts with spaces."""
    letters = _native.without_parts(surface.data, surface.offsets)
    plain = len(np.setdiff1d(letters, _owners(surface, 0x80)))
    return plain > 0 and len(_beyond_ascii(surface)) <= MAX_FOREIGN_RATIO * plain


def columns_of(
    evidence: NDArray[np.int32], languages: tuple[str, ...], latin: NDArray[np.int32] | None = None
) -> NDArray[np.int32]:
    """Return the place of each item's language among these, from what it says for each of LANGUAGES.

    An item that says too little is in the first language of the Latin script, or in the first where there is none.
    With `latin`, the number of each item's words in Latin letters, one without any is in the language of its script,
    however little it says.

    Examples
    --------
    >>> said = np.zeros((2, len(LANGUAGES)), np.int32)
    >>> said[1, LANGUAGES.index("german")] = WORD_VOTES
    >>> columns_of(said, ("english", "german")).tolist()
    [0, 1]
    """
    mine = evidence[:, [LANGUAGES.index(language) for language in languages]]
    most = mine.max(axis=1, initial=0)
    sure = most >= WORD_VOTES // 4
    if latin is not None:
        sure |= (most > 0) & (latin == 0)
    usual = next((place for place, language in enumerate(languages) if language not in OTHER_SCRIPTS), 0)
    return np.where(sure, np.argmax(mine, axis=1), usual).astype(np.int32)


def latin_forms(surface: Strings) -> NDArray[np.bool_]:
    """Return which forms begin with a Latin letter.

    Examples
    --------
    >>> latin_forms(Strings.of(["fig", "été", "3d", "яблоко", "果"])).tolist()
    [True, True, False, False, False]
    """
    if not len(surface.data):
        return np.zeros(len(surface), np.bool_)
    # No form is empty. A letter of U+00C0 to U+024F begins with 0xC3 to 0xC9 in UTF-8, Vietnamese ones with 0xE1 0xBA.
    starts = surface.offsets[:-1]
    lead = surface.data[starts]
    second = surface.data[np.minimum(starts + 1, len(surface.data) - 1)]
    plain = ((lead | 0x20) >= ord("a")) & ((lead | 0x20) <= ord("z"))
    accented = ((lead >= 0xC3) & (lead <= 0xC9)) | ((lead == 0xE1) & (second >= 0xB8) & (second <= 0xBB))
    return np.asarray(plain | accented, np.bool_)


def with_likely(
    languages: tuple[str, ...],
    evidence: NDArray[np.int32],
    latin: NDArray[np.int32],
    table: Table,
    surface: Strings,
) -> tuple[str, ...]:
    """Return the languages of a catalog with the likeliest one of items that say nothing of theirs.

    Items in another script have no say in it: where items in Latin letters are silent, and no language of that script
    was found, it is the one to which the words in Latin letters lean. It comes first if most items are such.

    Parameters
    ----------
    languages : tuple of str
        The result of `languages_of`.
    evidence, latin : int32 arrays
        For each item, what it says for each of LANGUAGES, and how many words in Latin letters it has.
    table, surface
        What `evidence_of` gave, and for which forms.
    """
    if any(language not in OTHER_SCRIPTS for language in languages):
        return languages
    silent = int(((latin > 0) & (evidence.max(axis=1, initial=0) < WORD_VOTES // 4)).sum())
    most = 2 * silent >= max(len(latin), 1)
    if languages and silent < max(MIN_ITEM_SHARE * len(latin), 1):
        return languages
    if languages or most:
        forms = np.flatnonzero(latin_forms(surface))
        written = surface if len(forms) == len(surface) else Strings.of(surface.take(forms.astype(np.int32)))
        likely = leaning((table[0][forms], table[1]), written)
    else:
        likely = leaning(table, surface)
    if likely is None:
        return languages
    return (likely, *languages) if most else (*languages, likely)


def content_words(
    builder: _native.BagBuilder, surface: Strings, languages: tuple[str, ...], columns: NDArray[np.int32]
) -> tuple[str, ...]:
    """Return the stop words of one language that are words to search for in another, such as `war` and `man`."""
    lists = [listed([language]) for language in languages]
    disputed = sorted(set().union(*lists) - frozenset.intersection(*lists))
    numbers = surface.find_all(disputed)
    row_of_form = np.full(len(surface), -1, np.int32)
    row_of_form[numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0).astype(np.int32)
    counted = np.asarray(builder.holders(row_of_form, len(disputed), len(languages), columns), np.int64)
    held = counted.reshape(len(disputed), len(languages))
    shares = held / np.maximum(np.bincount(columns, minlength=len(languages)), 1)
    grammar = np.array([[word in words for words in lists] for word in disputed], np.bool_).reshape(shares.shape)
    common = np.where(grammar, shares, 0).max(axis=1, initial=0)
    elsewhere = np.where(grammar, 0, shares).max(axis=1, initial=0)
    searched = np.flatnonzero((elsewhere > 0) & (elsewhere >= MAX_CONTENT_SHARE * common))
    return tuple(disputed[n] for n in searched.tolist())


def _clear(evidence: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Return the strongest language of each row, what is said for it, and whether it is clear."""
    best, first, second = _native.strongest(evidence.reshape(-1), len(LANGUAGES))
    return best, first, (first >= MIN_VOTES) & (first >= MIN_LEAD * second)


@cache
def _function_words() -> dict[str, NDArray[np.int32]]:
    """Return the weights of every function word."""
    speakers: dict[str, list[str]] = {}
    for language in LANGUAGES:
        # A single letter of the Latin alphabet is as likely a part of a number.
        for word in (word for word in STOP_WORDS.get(language, ()) if len(word) > 1 or not word.isascii()):
            speakers.setdefault(word, []).append(language)
    return {word: _weights(named, WORD_VOTES) for word, named in speakers.items()}


@cache
def _letters() -> dict[str, NDArray[np.int32]]:
    """Return the weights of every telling letter: less than a function word's, for names travel."""
    return {
        letter: _weights(named.split(), WORD_VOTES // 2)
        for letters, named in TELLING_LETTERS.items()
        for letter in letters
    }


def _weights(languages: Iterable[str], unit: int) -> NDArray[np.int32]:
    named = list(languages)
    return _weights_of(dict.fromkeys(named, unit // len(named)))


def _weights_of(said: Mapping[str, int]) -> NDArray[np.int32]:
    return np.array([said.get(language, 0) for language in LANGUAGES], np.int32)


def _telling_letters(form: str) -> str:
    """Return a word's telling letters; in a script of one language the first, and a mark if others are foreign."""
    if any(first <= ord(form[0]) <= last for first, last in SCRIPTS.values()):
        return form[0] + "?" * bool(FOREIGN_LETTERS.intersection(form))
    return "".join(sorted(set(TELLING_LETTER.findall(form))))


def _said_by_letters(letters: str) -> NDArray[np.int32]:
    """Return what the telling letters of a word say."""
    for language, (first, last) in SCRIPTS.items():
        if first <= ord(letters[0]) <= last:
            return _weights([language], WORD_VOTES // 4) * np.int32(-1 if len(letters) > 1 else 1)
    said = [_letters()[letter] for letter in letters]
    return np.asarray(np.minimum(np.sum(said, axis=0), WORD_VOTES // 2), np.int32)


def _said_by_character(shares: Mapping[str, int]) -> NDArray[np.int32]:
    return _weights_of({language: share * WORD_VOTES // 80 for language, share in shares.items()})


@cache
def _characters() -> list[tuple[int, int, NDArray[np.int32]]]:
    return [(first, last, _said_by_character(shares)) for first, last, shares in SCRIPT_VOTES]


def _beyond_ascii(surface: Strings) -> NDArray[np.int64]:
    """Return the numbers of the strings that are not all ASCII and not Chinese, Japanese or Korean at their start."""
    owners = _owners(surface, 0xC3)
    return owners[surface.data[surface.offsets[owners]] < 0xE1]


def _first_characters(surface: Strings) -> NDArray[np.int64]:
    """Return the code of each string's first character where it takes three bytes in UTF-8, else 0."""
    starts = surface.offsets[:-1]
    if not len(surface.data):
        return np.zeros(len(starts), np.int64)
    end = len(surface.data) - 1
    lead, second, third = (surface.data[np.minimum(starts + n, end)].astype(np.int64) for n in range(3))
    return np.where((lead & 0xF0) == 0xE0, (lead & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F, 0)


def _owners(surface: Strings, bound: int) -> NDArray[np.int64]:
    """Return the numbers of the strings that hold a byte of at least `bound`."""
    return np.unique(np.searchsorted(surface.offsets, np.flatnonzero(surface.data >= bound), side="right") - 1)


def listed(languages: Iterable[str]) -> frozenset[str]:
    """Return all stop words of some languages.

    Examples
    --------
    >>> "der" in listed(["german"])
    True
    """
    return frozenset(chain.from_iterable(STOP_WORDS.get(language, ()) for language in languages))
