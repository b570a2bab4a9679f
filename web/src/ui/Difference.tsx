import { differenceOf } from "./difference";

export function Difference({ before, after }: { before: string; after: string }) {
  return (
    <span className="difference">
      {differenceOf(before, after).map((piece, at) =>
        piece.how === "same" ? <span key={at}>{piece.text}</span> : piece.how === "gone" ? <del key={at}>{piece.text}</del> : <ins key={at}>{piece.text}</ins>,
      )}
    </span>
  );
}
