export function Component() { return <p>soon</p>; }
