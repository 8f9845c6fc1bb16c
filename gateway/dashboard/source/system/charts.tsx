// Small charts in SVG. Each has a table of its numbers for those who do not see it.

import { ReactNode, useEffect, useRef, useState } from "react";
import { compact, number, percent, t } from "../text";

export interface Series {
  name: string;
  values: (number | null)[];
}

const height = 200;
const margin = { top: 10, right: 12, bottom: 24, left: 44 };

/** Round numbers from zero to at least `maximum`. */
export function ticks(maximum: number): number[] {
  if (maximum <= 0) return [0, 1];
  const rough = maximum / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const wanted = maximum < 4 ? 1 : step;
  return Array.from({ length: Math.ceil(maximum / wanted) + 1 }, (_, index) => index * wanted);
}

export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const element = useRef<HTMLDivElement | null>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(entry.contentRect.width, 240)));
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

export function LineChart(
  { label, points, series, isStacked, tall = height }: {
    label: string;
    points: string[];
    series: Series[];
    isStacked?: boolean;
    tall?: number;
  }
) {
  const [element, width] = useWidth();
  const [at, setAt] = useState<number | null>(null);
  const maximum = Math.max(0, ...series.flatMap((one) => one.values.map((value) => value ?? 0)));
  const levels = ticks(maximum);
  const top = levels[levels.length - 1] ?? 1;
  const inner = { width: width - margin.left - margin.right, height: tall - margin.top - margin.bottom };
  const x = (index: number) =>
    margin.left + (points.length < 2 ? inner.width / 2 : (index / (points.length - 1)) * inner.width);
  const y = (value: number) => margin.top + inner.height - (value / top) * inner.height;
  const every = Math.max(1, Math.ceil(points.length / Math.max(2, Math.floor(inner.width / 76))));
  const path = (values: (number | null)[]) => {
    let isOpen = false;
    return values.map((value, index) => {
      if (value === null) {
        isOpen = false;
        return "";
      }
      const command = isOpen ? "L" : "M";
      isOpen = true;
      return `${command}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    }).join("");
  };
  const hover = (event: MouseEvent) => {
    const left = element.current?.getBoundingClientRect().left ?? 0;
    const share = (event.clientX - left - margin.left) / Math.max(inner.width, 1);
    setAt(Math.min(points.length - 1, Math.max(0, Math.round(share * (points.length - 1)))));
  };
  return (
    <figure className="chart" ref={element} onMouseLeave={() => setAt(null)}>
      {series.length > 1 && (
        <figcaption className="legend">
          {series.map((one, index) => (
            <span key={one.name}>
              <i className={"series-" + (index % 6)} />
              {one.name}
            </span>
          ))}
        </figcaption>
      )}
      <svg width={width} height={tall} role="img" aria-label={label} onMouseMove={hover}>
        {levels.map((level) => (
          <g key={level}>
            <line className="grid" x1={margin.left} x2={width - margin.right} y1={y(level)} y2={y(level)} />
            <text className="axis" x={margin.left - 8} y={y(level) + 4} textAnchor="end">{compact(level)}</text>
          </g>
        ))}
        {points.map((point, index) =>
          (index % every === 0 || (index === points.length - 1 && every === 1)) && (
            <text
              key={index}
              className="axis"
              x={x(index)}
              y={tall - 6}
              textAnchor={index === 0 ? "start" : index > points.length - 1 - every / 2 ? "end" : "middle"}>
              {point}
            </text>
          )
        )}
        {series.length === 1 && !isStacked && series[0] && points.length > 1 && (
          <path
            className="area"
            d={`${path(series[0].values.map((value) => value ?? 0))}L${x(points.length - 1)} ${y(0)}L${x(0)} ${
              y(0)
            }Z`} />
        )}
        {series.map((one, index) => (
          <g key={one.name} className={"series-" + (index % 6)}>
            <path className="series-line" d={path(one.values)} />
            {(points.length === 1 || at !== null) && one.values.map((value, place) =>
              value !== null && (points.length === 1 || place === at) && (
                <circle key={place} cx={x(place)} cy={y(value)} r="3.5" />
              )
            )}
          </g>
        ))}
        {at !== null && <line className="cursor" x1={x(at)} x2={x(at)} y1={margin.top} y2={tall - margin.bottom} />}
      </svg>
      {at !== null && (
        <div className="chart-tip" style={{ left: Math.min(x(at) + 10, width - 150), top: margin.top }}>
          <strong>{points[at]}</strong>
          {series.map((one) => (
            <span key={one.name}>
              {one.name} <b>{one.values[at] === null ? "–" : number(one.values[at] ?? 0)}</b>
            </span>
          ))}
        </div>
      )}
      <Numbers
        label={label}
        heads={["", ...series.map((one) => one.name)]}
        rows={points.map((point, index) => [point, ...series.map((one) => one.values[index] ?? "–")])} />
    </figure>
  );
}

/** Horizontal bars of named values. */
export function BarList(
  { label, bars, unit }: { label: string; bars: { name: ReactNode; key: string; value: number }[]; unit?: string }
) {
  const maximum = Math.max(1, ...bars.map((bar) => bar.value));
  return (
    <ul className="bars" aria-label={label}>
      {bars.map((bar) => (
        <li key={bar.key}>
          <span className="bar-name">{bar.name}</span>
          <span className="bar-value">{number(bar.value)}{unit && ` ${unit}`}</span>
          <span className="bar-track">
            <span style={{ width: `${(bar.value / maximum) * 100}%` }} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** A line without axes, to show a course beside a number. */
export function Sparkline({ values, label }: { values: number[]; label: string }) {
  const [width, tall] = [120, 28];
  const maximum = Math.max(1, ...values);
  const step = width / Math.max(values.length, 1);
  return (
    <svg
      className="sparkline"
      width={width}
      height={tall}
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${tall}`}>
      {values.map((value, index) => {
        const size = Math.max(value === 0 ? 1 : 2, (value / maximum) * tall);
        return (
          <rect
            key={index}
            x={index * step}
            y={tall - size}
            width={Math.max(step - 1.5, 1)}
            height={size}
            rx="0.5"
            className={value === 0 ? "none" : ""} />
        );
      })}
    </svg>
  );
}

/** People of a cohort who came back, by period. */
export function RetentionGrid({ rows }: { rows: { cohort: string; size: number; people: (number | undefined)[] }[] }) {
  const periods = Math.max(1, ...rows.map((row) => row.people.length));
  return (
    <div className="table retention">
      <table>
        <thead>
          <tr>
            <th scope="col">{t("First seen")}</th>
            <th scope="col" className="number">{t("People")}</th>
            {Array.from({ length: periods }, (_, index) => <th key={index} scope="col" className="number">{index}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.cohort}>
              <th scope="row">{row.cohort}</th>
              <td className="number">{number(row.size)}</td>
              {Array.from({ length: periods }, (_, index) => {
                const people = row.people[index];
                if (people === undefined || row.size === 0) return <td key={index} />;
                const share = people / row.size;
                return (
                  <td
                    key={index}
                    className="number heat"
                    style={{ "--share": share }}
                    title={number(people)}>
                    {percent(share, 0)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** An effect with its interval, on one scale with others. */
export function Interval(
  { low, value, high, reach, label, isLessBetter }: {
    low: number;
    value: number;
    high: number;
    reach: number;
    label: string;
    isLessBetter?: boolean;
  }
) {
  const place = (one: number) => `${Math.min(100, Math.max(0, 50 + (one / reach) * 50))}%`;
  const tone = low <= 0 && high >= 0 ? "neutral" : (low > 0) !== (isLessBetter ?? false) ? "good" : "bad";
  return (
    <span className={"interval " + tone} role="img" aria-label={label} title={label}>
      <span className="zero" />
      <span className="reach" style={{ left: place(low), right: `calc(100% - ${place(high)})` }} />
      <span className="point" style={{ left: place(value) }} />
    </span>
  );
}

function Numbers({ label, heads, rows }: { label: string; heads: string[]; rows: (string | number)[][] }) {
  // A page may have charts with thousands of numbers, which nobody has opened.
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t("Numbers")}</summary>
      {isOpen && (
        <table aria-label={label}>
          <thead>
            <tr>{heads.map((head, index) => <th key={index} scope="col">{head}</th>)}</tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {row.map((cell, place) => <td key={place}>{typeof cell === "number" ? number(cell) : cell}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}
