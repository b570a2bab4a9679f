"""Stop words: words that say nothing about a topic. One list for each purpose; none of them is a copy of another.

The lists differ because results depend on them: what an index is asked for, which objects stored triggers have, which statements are
taken for the same, which signature an error has. Changing a list changes what existing homes hold or find.
"""

from __future__ import annotations

_FUNCTION_WORDS_TEXT = """
a about after all also am an and any are as at be because been before being but by can could did do does
doing done down each few for from further get got had has have having he her here him his how i if in into
is it its just let like make me more most my no nor not now of off on once only or other our out over own
please same she should so some such than that the their them then there these they this those through to too
under until up us very want was we were what when where which while who why will with would yes you your
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_TEXT.split())
"""Articles, pronouns, auxiliaries: a lexical query made only of them finds nothing. The text indexes hold them all the same."""
CONTRACTION_ENDS = frozenset({"s", "t", "re", "d", "ll", "m"})
"""What a tokenizer leaves of "it's" and "we'll". A query of the text index keeps them, because `t` may be a name there."""

_UNINFORMATIVE_TEXT = """
a about above across actually add added adding after again against ago agree all almost along already
also although always am among an and another any anymore anyone anything anyway appear are around as ask
asked asking at away back bad based basically be became because become been before behind being below
best better between big bit both bring but by call called came can can't cannot case cases change changed
changes changing check class clear clearly come comes common complete completely consider contain
contains continue correct could couldn't create created current currently cut decide did didn't different
directly do does doesn't doing don't done down due during each easier easy edit either else end enough
ensure especially etc even ever every everything exactly example existing expect expected extra fact far
few file files final finally find fine first fix fixed folder follow following for found from full
further gave general get gets getting give given go goes going good got great had half handle happen
happened happening happens hard has have haven't having he hello help her here hi him his hold how
however i i'd i'll i'm i've idea if implement implemented important in include included including indeed
inside instead into is isn't issue it it's its itself just keep kept kind know known last later latest
least leave left less let let's like likely line lines list little ll long longer look looked looking
looks lot made main make makes making many matter may maybe me mean means might mind missing more most
move much multiple must my myself name need needed needs neither never new next nice no non nor not note
nothing now of off often ok okay old on once one ones only onto or other others otherwise our out over
own part particular pass past per perhaps place please point possible pretty previous probably problem
proceed proper properly provide put question quite rather re read ready real really reason regarding
related remain remains remove removed rest result return right run running said same saw say says second
see seem seems seen set several shall she should shouldn't show shows side similar simple simply since
single small so some someone something sometimes soon sorry sort spec specific start started state stay
step steps still stop stuff such suggest sure take taken takes taking talk task tell than thank thanks
that that's the their them then there there's these they they're thing things think this those though
thought three through thus time times to today together told too took top toward towards tried try trying
turn two type under understand unless until up update updated upon us use used useful user uses using
usual usually ve version very via want wanted wants was wasn't way ways we we'd we'll we're we've well
went were weren't what what's whatever when where whether which while who whole whose why will wish with
within without won't work worked working works would wouldn't write wrong yeah yes yet you you'd you'll
you're you've your yourself yup hey eg ie vs able actual according agent assistant code
"""
UNINFORMATIVE_WORDS = frozenset(_UNINFORMATIVE_TEXT.split())
"""Words that any prompt to an agent could hold; they are no objects of a situation or trigger. Stored triggers were made with them."""

_GENERIC_TEXT = """
code codebase project repo repository file files change changes function functions class classes module
modules user agent always never every all any test tests command commands error errors rule rules feature
features work task tasks using instead new must should default value values set run before after when
data type types name names support supported
"""
GENERIC_TOPICS = frozenset(_GENERIC_TEXT.split())
"""Words that are no topic of a trigger, although they may be an object of a prompt."""

_STATEMENT_TEXT = """
a an the and or but of to in on at for with by from as is are was were be been being it its this that these
those we i you our your my they them their he she his her us me do does did so if then than when while also
just very really please always only must should shall will would can could may might have has had there here
now ever any all each every into about
"""
STATEMENT_STOP_WORDS = frozenset(_STATEMENT_TEXT.split())
"""Left out where two statements are compared. Denials, numbers and verbs stay, because they make the difference."""

DIGEST_STOP_WORDS = frozenset(
    {"the", "and", "for", "with", "that", "this", "from", "into", "still", "fails", "then", "also"}
)
"""Left out where a line of a digest is looked for in a report; `fails` and `still` open such a line and never close it."""

_ERROR_TEXT = """
a an the is are was were be been to of in on at by for from with and or as it its this that these those
your you we i has have had do does did line lines column col file error errors err warning please see run
try help more info about using use while when during because got there here s t re com org
"""
ERROR_STOP_WORDS = frozenset(_ERROR_TEXT.split())
"""Words of any error message; they are no part of a signature. Stored signatures were made with them."""
