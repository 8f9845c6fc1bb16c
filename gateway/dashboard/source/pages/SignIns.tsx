// How often staff signed in, by month.

import { call } from "../api/client";
import { Empty, Section, Show } from "../system/basics";
import { BarList, LineChart } from "../system/charts";
import { useLoad } from "../system/load";
import { locale, plural, t } from "../text";

export function SignIns() {
  const months = useLoad(() => call("GET /admin/sign-ins", { query: { by: "month" } }), []);
  const name = new Intl.DateTimeFormat(locale, { month: "short", year: "numeric", timeZone: "UTC" });
  return (
    <Show from={months}>
      {(found) => {
        const rows = [...found.data].reverse();
        if (rows.length === 0) return <Empty icon="staff" title={t("Nobody has signed in yet")} />;
        const people = new Map<string, number>();
        for (const member of rows.flatMap((row) => row.staff)) {
          const key = member.userName ?? "–";
          people.set(key, (people.get(key) ?? 0) + (member.count ?? 0));
        }
        const sum = rows.reduce((total, row) => total + row.count, 0);
        return (
          <div className="columns">
            <Section title={t("Sign-ins by month")} note={plural(sum, "{n} sign-in", "{n} sign-ins")}>
              <LineChart
                label={t("Sign-ins by month")}
                points={rows.map((row) => name.format(new Date(row.month + "-01")))}
                series={[{ name: t("Sign-ins"), values: rows.map((row) => row.count) }]} />
            </Section>
            <Section title={t("By member")} note={t("In the last twelve months.")}>
              <BarList
                label={t("By member")}
                bars={[...people].sort((a, b) => b[1] - a[1]).map(([key, value]) => ({ key, name: key, value }))} />
            </Section>
          </div>
        );
      }}
    </Show>
  );
}
