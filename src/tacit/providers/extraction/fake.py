"""An extractor for tests and trials: a user's sentences that begin with a given word. In: utterances. Out: them, verbatim."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.ports.extraction import Extracted, Extraction, Utterance
from tacit.reading.sentences import split_sentences


class FakeExtractor:
    """Finds "Note well: ..." in what the user says, or gives the answers it was made with, one a call."""

    name = "fake-extractor@1"
    most_output_tokens = 100

    def __init__(self, answers: Sequence[Extraction | Exception] = ()) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[Utterance, ...]] = []

    def extract(self, utterances: Sequence[Utterance], *, kinds: Sequence[str]) -> Extraction:
        """See the port. Costs a token a word."""
        if not utterances:
            return Extraction(found=())
        self.asked.append(tuple(utterances))
        if self._answers:
            answer = self._answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        found = [
            Extracted(
                content=sentence.partition(":")[2].strip().rstrip("."),
                kind=kinds[0],
                quote=sentence,
                number=one.number,
                confidence=0.8,
            )
            for one in utterances
            for sentence in split_sentences(one.text)
            if kinds and one.role == "user" and sentence.startswith("Note well: ")
        ]
        return Extraction(found=tuple(found), tokens=sum(len(one.text.split()) for one in utterances))

    def close(self) -> None:
        """Nothing is open."""
