/** The axis of a chart that begins at 0: at most five round steps of 1, 2 or 5 times a power of ten, all of them labeled. */
export function axisOf(most: number): { domain: [number, number]; ticks: number[]; interval: 0 } {
  const rough = Math.max(most, 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= rough)!;
  const round = Math.max(1, step); // counts and milliseconds: nothing between whole ones
  const ticks = Array.from({ length: Math.max(1, Math.ceil(most / round)) + 1 }, (_, at) => at * round);
  return { domain: [0, ticks.at(-1)!], ticks, interval: 0 };
}
