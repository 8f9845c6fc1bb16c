// Labels of tickets, with their colours.

import { callIn, usePlace } from "../shell/place";
import { Loaded, useLoad } from "../system/load";

export interface Label {
  name: string;
  color: string;
  tickets: number;
}

export function useLabels(): Loaded<Label[]> {
  const place = usePlace();
  return useLoad(
    async () => (await callIn(place, "GET /admin/apps/{app}/tickets/labels")).data as unknown as Label[],
    [place.app.id, place.environment]
  );
}

export const coloursOf = (labels: Label[] = []) => new Map(labels.map((label) => [label.name, label.color]));

export function LabelChip({ name, colour }: { name: string; colour?: string }) {
  const style = colour ? { background: colour, color: textOn(colour) } : undefined;
  return <span className="badge label-chip" style={style} title={name}>{name}</span>;
}

/** Black or white: what contrasts more with a colour, which is at least 4.5 to 1 for every colour (WCAG AA). */
export function textOn(colour: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  // The relative luminance with the same contrast to black and to white.
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff";
}
