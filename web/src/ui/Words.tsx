/** A text with code in it: what stands between backticks. */
export function Words({ text }: { text: string }) {
  return text.split("`").map((part, number) => (number % 2 === 1 ? <code key={number}>{part}</code> : part));
}
