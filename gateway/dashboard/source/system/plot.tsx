// Places as points over a grid of latitudes and longitudes. A real map would ask another host for its tiles.

import { useWidth } from "./charts";
import { go } from "./router";
import { number, plural } from "../text";

export interface Spot {
  id: string;
  latitude: number;
  longitude: number;
  title: string;
  to: string;
}

const tall = 320;
const margin = { top: 12, right: 16, bottom: 26, left: 56 };

export function GeoPlot({ spots }: { spots: Spot[] }) {
  const [element, width] = useWidth();
  const latitudes = spots.map((spot) => spot.latitude);
  const longitudes = spots.map((spot) => spot.longitude);
  const middle = { latitude: between(latitudes), longitude: between(longitudes) };
  const inner = { width: width - margin.left - margin.right, height: tall - margin.top - margin.bottom };
  // A degree of longitude is shorter away from the equator; both directions have one scale.
  const shrink = Math.max(0.05, Math.cos((middle.latitude * Math.PI) / 180));
  const reach = { latitude: reachOf(latitudes), longitude: reachOf(longitudes) * shrink };
  const scale = Math.min(inner.width / reach.longitude, inner.height / reach.latitude) * 0.92;
  const x = (longitude: number) => margin.left + inner.width / 2 + (longitude - middle.longitude) * shrink * scale;
  const y = (latitude: number) => margin.top + inner.height / 2 - (latitude - middle.latitude) * scale;
  const across = lines(middle.longitude, inner.width / scale / shrink);
  const up = lines(middle.latitude, inner.height / scale);
  return (
    <figure className="chart plot" ref={element}>
      <svg width={width} height={tall} role="img" aria-label={plural(spots.length, "{n} place", "{n} places")}>
        {up.map((latitude) => (
          <g key={latitude}>
            <line className="grid" x1={margin.left} x2={width - margin.right} y1={y(latitude)} y2={y(latitude)} />
            <text className="axis" x={margin.left - 8} y={y(latitude) + 4} textAnchor="end">{degrees(latitude)}</text>
          </g>
        ))}
        {across.map((longitude) => (
          <g key={longitude}>
            <line className="grid" x1={x(longitude)} x2={x(longitude)} y1={margin.top} y2={tall - margin.bottom} />
            <text className="axis" x={x(longitude)} y={tall - 8} textAnchor="middle">{degrees(longitude)}</text>
          </g>
        ))}
        {spots.map((spot) => (
          <circle
            key={spot.id}
            className="spot"
            cx={x(spot.longitude)}
            cy={y(spot.latitude)}
            r="5"
            onClick={() => go(spot.to)}>
            <title>{spot.title}</title>
          </circle>
        ))}
      </svg>
    </figure>
  );
}

const between = (values: number[]) => (Math.min(...values) + Math.max(...values)) / 2;
const reachOf = (values: number[]) => Math.max(0.01, Math.max(...values) - Math.min(...values));
const degrees = (value: number) => number(Math.round(value * 1000) / 1000) + "°";

/** Round values around a middle, about five of them. */
function lines(middle: number, span: number): number[] {
  const rough = span / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const found: number[] = [];
  for (let at = Math.ceil((middle - span / 2) / step); at * step <= middle + span / 2; at++) found.push(at * step);
  return found;
}
