// How many units a test needs before its answer can be told from chance.

import { useState } from "react";
import { callIn, usePlace } from "../shell/place";
import { Notice, Section } from "../system/basics";
import { Choice, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { number, percent, plural, t } from "../text";
import { daysAgo } from "./Overview";

/** Standard normal quantiles: two-sided 95 % confidence, and the power of a test. */
const confidence = 1.959964;
const powers: Record<string, number> = { "0.8": 0.841621, "0.9": 1.281552 };

/**
 * Units for each of two variations, to find a relative change of a share: the normal approximation for two proportions
 * with unpooled variance under the alternative (Fleiss, Statistical Methods for Rates and Proportions, chapter 4).
 */
export function unitsNeeded(share: number, change: number, power: string): number {
  const other = share * (1 + change);
  const mean = (share + other) / 2;
  const variance = share * (1 - share) + other * (1 - other);
  const sum = confidence * Math.sqrt(2 * mean * (1 - mean)) + (powers[power] ?? 0.841621) * Math.sqrt(variance);
  return Math.ceil((sum / (other - share)) ** 2);
}

export function SampleSize({ variations }: { variations: number }) {
  const place = usePlace();
  const [share, setShare] = useState("10");
  const [change, setChange] = useState("10");
  const [power, setPower] = useState("0.8");
  const people = useLoad(async () => {
    if (!place.may("analytics", "read")) return null;
    const query = { from: daysAgo(7), to: daysAgo(1), interval: "day" as const };
    const answer = await callIn(place, "GET /admin/apps/{app}/analytics/people", { query });
    const days = (answer as { data: { active?: number }[] }).data;
    return days.reduce((sum, day) => sum + (day.active ?? 0), 0) / 7;
  }, [place.app.id, place.environment]);
  const [now, smallest] = [Number(share) / 100, Number(change) / 100];
  const isUsable = now > 0 && now < 1 && smallest !== 0 && now * (1 + smallest) > 0 && now * (1 + smallest) < 1;
  const each = isUsable ? unitsNeeded(now, smallest, power) : 0;
  const daily = people.data ?? 0;
  return (
    <Section title={t("How many are needed?")} note={t("For a share, such as buyers among visitors.")}>
      <div className="pair">
        <TextField label={t("Share now, in percent")} type="number" value={share} change={setShare} />
        <TextField
          label={t("Smallest change to find, in percent of the share")}
          type="number"
          value={change}
          change={setChange}
          hint={t("10 means: from 10 % to 11 %.")} />
        <Choice
          label={t("Chance to find it")}
          value={power}
          change={setPower}
          options={Object.keys(powers).map((one) => ({ value: one, title: percent(Number(one), 0) }))} />
      </div>
      {!isUsable ? <Notice tone="warning">{t("The shares must lie between 0 and 100 percent.")}</Notice> : (
        <Notice>
          <strong>{t("{n} in each variation", { n: each })}</strong>, {t("{n} in all", { n: each * variations })}.{" "}
          {daily >= 1 && plural(
            Math.ceil((each * variations) / daily),
            "With the people of the last week, about {n} day.",
            "With the people of the last week, about {n} days."
          )}
        </Notice>
      )}
      {daily >= 1 && (
        <p className="hint">
          {t(
            "In the last week there were {n} people a day. Fewer of them are new each day, so plan for a longer test.",
            {
              n: number(Math.round(daily))
            }
          )}
        </p>
      )}
    </Section>
  );
}
