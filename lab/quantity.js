// Quantities as a link file has them: exact text of integers in bit/s, picoseconds and bytes.

const RATES = [["Gb/s", 1e9], ["Mb/s", 1e6], ["kb/s", 1e3], ["b/s", 1]];
const TIMES = [["s", 1e12], ["ms", 1e9], ["us", 1e6], ["ns", 1e3], ["ps", 1]];
const SIZES = [["MiB", 2 ** 20], ["KiB", 2 ** 10], ["MB", 1e6], ["kB", 1e3], ["B", 1]];
const UNITS = { rate: [...RATES, ["Tb/s", 1e12]], time: [...TIMES, ["min", 6e13]], size: [...SIZES, ["GiB", 2 ** 30], ["GB", 1e9]] };

// The first unit in which the value is 1 or more with at most three decimals.
function shortest(value, units) {
  for (const [name, factor] of units) {
    const isExact = factor < 1000 ? true : value % (factor / 1000) === 0;
    if ((value >= factor || value === 0) && isExact) {
      return `${trimmed(value / factor)} ${name}`;
    }
  }
  return `${value} ${units.at(-1)[0]}`;
}

function trimmed(number) {
  return number.toFixed(3).replace(/\.?0+$/, "");
}

// A value as a link file has it.
export function written(unit, raw) {
  switch (unit) {
    case "rate": return shortest(raw, RATES);
    case "time": return shortest(raw, TIMES);
    case "size": {
      const whole = SIZES.filter(([, factor]) => raw % factor === 0).map(([name, factor]) => `${raw / factor} ${name}`);
      return whole.reduce((best, text) => (text.length < best.length ? text : best));
    }
    default: return raw;
  }
}

// A value as people read it.
export function shown(unit, raw) {
  return unit === "share" ? `${Number((raw * 100).toPrecision(3))} %` : String(written(unit, raw));
}

// The value of text such as "8 Mb/s" or "1 %"; null if it is none.
export function parsed(unit, text) {
  const match = /^\s*([0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*(\S*)\s*$/i.exec(text);
  if (!match) return null;
  const number = Number(match[1]);
  if (unit === "count") return match[2] ? null : Math.round(number);
  if (unit === "share") return match[2] === "%" ? number / 100 : match[2] ? null : number;
  const factor = UNITS[unit].find(([name]) => name.toLowerCase() === match[2].toLowerCase());
  return factor ? Math.round(number * factor[1]) : null;
}

// A value rounded to three significant digits of its unit, so that its text is short.
export function rounded(unit, raw) {
  if (unit === "share") return Number(raw.toPrecision(3));
  return raw === 0 ? 0 : Math.round(Number(raw.toPrecision(raw < 1e15 ? 3 : 12)));
}

// Bit/s with three digits, for figures that need not be exact.
export function rate(bps) {
  const [name, factor] = RATES.find(([, of]) => bps >= of) ?? RATES.at(-1);
  return `${Number((bps / factor).toPrecision(3))} ${name}`;
}
