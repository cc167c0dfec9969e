"""Word lists of the sentence splitter, in small letters and without the last full stop.

They follow what the reference's splitter, which learned from newspapers, does with these
words: it knows titles, companies, states and initials, but no "e.g.", "i.e.", "etc.",
"no." or "P.S.", after each of which it ends a sentence.
"""

from __future__ import annotations

_TITLES = "mr mrs ms messrs dr prof gen col lt maj adm sen rep reps jr sr st"
_COMPANIES = "inc corp co cos ltd bros cie"
_DATES = "jan feb aug sept sep oct nov dec tues wed fri a.m p.m a.d yr"
_STATES = (
    "ala ariz calif colo conn fla ga ill kan ky mich minn nev okla ore pa tenn va vt wash wis "
    "n.y n.j n.c s.c n.h r.i l.a d.c u.s u.k u.n u.s.a u.s.s.r"
)
_OTHER = "vs ph.d ave ft mg j.k j.r w.w"
# Middle initials; A, B, I and X number outlines more often than they shorten names.
_INITIALS = "c d e f g h k l m n p r s t v w"

ABBREVIATIONS = frozenset(
    " ".join([_TITLES, _COMPANIES, _DATES, _STATES, _OTHER, _INITIALS]).split()
)

#: Letters that number the parts of an outline.
ENUMERATORS = frozenset("abix")

_OPENERS = """
the this these there here it it's he he's they they're i i'm i've her your
in but so if since when while whether although though through upon without despite
however therefore thus hence moreover furthermore meanwhile similarly finally ultimately
instead yet yes even always together which some many most both does were
please thank thanks remember note imagine consider include create given try using
put ask call learn understand practice highlight ensure check explanation conclusion
person title section step question example writing started starting looking
"""

#: Words hardly ever written with a capital inside a sentence, not even in headlines: a
#: capital there marks a beginning.
OPENERS = frozenset(_OPENERS.split())

_SMALL_WORDS = """
a an and as at after all also another any are because before but by can come could day did
do does doesn't don't each every everyone first for from get give go had has have his how
is isn't its just keep last later let let's look make may maybe might most much my never
next no nobody nothing now of on once one only or other our over own perhaps put second
see she should so some sometimes still such take tell than that that's their them today
to two under until us use very was we what what's who why will with would write you
you're yours another example part point
"""

#: Words that no name begins with: after an initial they are a beginning too.
SMALL_WORDS = OPENERS | frozenset(_SMALL_WORDS.split())
