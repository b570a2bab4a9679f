/** Two texts word by word: what stayed, what went, what came. */
interface Piece {
  text: string;
  how: "same" | "gone" | "new";
}

const MOST_WORDS = 600;

export function differenceOf(before: string, after: string): Piece[] {
  const a = before.split(/(\s+)/).slice(0, MOST_WORDS);
  const b = after.split(/(\s+)/).slice(0, MOST_WORDS);
  // Longest common subsequence; the texts are short.
  const best: number[][] = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) best[i]![j] = a[i] === b[j] ? best[i + 1]![j + 1]! + 1 : Math.max(best[i + 1]![j]!, best[i]![j + 1]!);
  const pieces: Piece[] = [];
  const put = (text: string, how: Piece["how"]) => {
    const last = pieces.at(-1);
    if (last?.how === how) last.text += text;
    else pieces.push({ text, how });
  };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      put(a[i]!, "same");
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && best[i + 1]![j]! >= best[i]![j + 1]!)) put(a[i++]!, "gone");
    else put(b[j++]!, "new");
  }
  return pieces;
}
