// The themes of an app version side by side: a screen of each, and the colours of all.

import { useState } from "react";
import type { ConfigDocument } from "../../generated/api";
import { request } from "../api/client";
import { callIn, given, usePlace } from "../shell/place";
import { Badge, Button, Empty, Link, Show } from "../system/basics";
import { Dialog } from "../system/dialog";
import { errorOf, Form, Select, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { go, setQuery, useAddress } from "../system/router";
import { t } from "../text";
import { Catalogue, coloursIn, cssColour, extended, screensIn, useCatalogue } from "./catalogue";
import { path, putDraft } from "./document";
import { ScreenPreview } from "./ScreenPreview";

/** Beside the one that is open. */
const mostOthers = 5;

interface Theme {
  name: string;
  theme: string;
  draft: any;
}

const parts = (name: string) => ({ version: name.split("~")[0] ?? "", theme: name.split("~")[1] ?? "" });

export function Themes({ name, draft, isReadOnly }: { name: string; draft: any; isReadOnly: boolean }) {
  const place = usePlace();
  const { version, theme } = parts(name);
  const catalogue = useCatalogue();
  const others = useLoad(async (): Promise<Theme[]> => {
    const found: ConfigDocument[] = [];
    let after: string | undefined;
    do {
      const page = await callIn(place, "GET /admin/apps/{app}/config/{kind}", {
        path: { kind: "configuration" },
        query: { after, limit: 100 }
      });
      found.push(...(page.data ?? []));
      after = page.next;
    } while (after);
    const names = found.map((one) => one.name ?? "").filter((one) => one !== name && parts(one).version === version);
    return Promise.all(
      names.slice(0, mostOthers).map(async (one) => ({
        name: one,
        theme: parts(one).theme,
        draft: (await request("GET " + path, given(place, { kind: "configuration", name: one }))).body
      }))
    );
  }, [place.app.id, place.environment, name]);
  return (
    <Show from={others}>
      {(found) => (
        <Show from={catalogue}>
          {(builtIn) => (
            <SideBySide themes={[{ name, theme, draft }, ...found]} builtIn={builtIn} isReadOnly={isReadOnly} />
          )}
        </Show>
      )}
    </Show>
  );
}

function SideBySide({ themes, builtIn, isReadOnly }: { themes: Theme[]; builtIn: Catalogue; isReadOnly: boolean }) {
  const place = usePlace();
  const { query } = useAddress();
  const [isNew, setNew] = useState(false);
  const screens = [...new Set(themes.flatMap((one) => screensIn(one.draft).map((screen) => screen.name ?? "")))];
  const screen = screens.find((one) => one === query.get("screen")) ?? screens[0];
  const colours = [...new Set(themes.flatMap((one) => coloursIn(one.draft).map((colour) => colour.name)))].sort();
  const titleOf = (one: Theme) => one.theme || t("Without a theme");
  const make = !isReadOnly && <Button icon="plus" onPress={() => setNew(true)}>{t("New theme from this one")}</Button>;
  const first = themes[0];
  return (
    <div className="stack-large">
      <div className="toolbar">
        {screen !== undefined && (
          <Select
            label={t("Screen")}
            value={screen}
            change={(next) => setQuery({ screen: next })}
            options={screens.map((one) => ({ value: one, title: one }))} />
        )}
        {make}
      </div>
      {themes.length === 1 && (
        <Empty icon="config" title={t("This version has one theme")}>
          {t("Users choose among the themes of a version. Each is a document, such as 1.2.0~Dark.")}
        </Empty>
      )}
      {screen !== undefined && (
        <div className="themes">
          {themes.map((one) => (
            <div key={one.name} className="stack">
              <h3>
                <Link to={place.to("configuration/" + encodeURIComponent(one.name), { tab: "themes" })}>
                  {titleOf(one)}
                </Link>
              </h3>
              <ScreenPreview
                draft={one.draft}
                catalogue={extended(builtIn, one.draft?.catalogue)}
                name={screen}
                theme={titleOf(one)} />
            </div>
          ))}
        </div>
      )}
      {colours.length > 0 && (
        <div className="table">
          <table aria-label={t("Colours")}>
            <thead>
              <tr>
                <th scope="col">{t("Colour")}</th>
                {themes.map((one) => <th key={one.name} scope="col">{titleOf(one)}</th>)}
              </tr>
            </thead>
            <tbody>
              {colours.map((colour) => (
                <tr key={colour}>
                  <td>
                    <code>{colour}</code>
                  </td>
                  {themes.map((one) => {
                    const css = cssColour(coloursIn(one.draft), colour);
                    return (
                      <td key={one.name}>
                        {css ?
                          (
                            <span className="row nowrap">
                              <i className="colour-dot" style={{ background: css }} />
                              <code className="soft">{css.replace(/^rgba|[()]/g, "")}</code>
                            </span>
                          ) :
                          <Badge tone="warning">{t("missing")}</Badge>}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {isNew && first && <NewTheme from={first} close={() => setNew(false)} />}
    </div>
  );
}

function NewTheme({ from, close }: { from: Theme; close: () => void }) {
  const place = usePlace();
  const [theme, setTheme] = useState("");
  const [problem, report] = useState<unknown>(undefined);
  const send = async () => {
    const name = `${parts(from.name).version}~${theme.trim()}`;
    // Its name says the theme, and its own version would be taken.
    const { theme: _, version: __, ...content } = from.draft;
    await putDraft(place, "configuration", name, content, null);
    go(place.to("configuration/" + encodeURIComponent(name), { tab: "colours" }));
  };
  return (
    <Dialog title={t("New theme")} close={close}>
      <Form send={send} action={t("Create")} cancel={close} fields={["name"]} report={report}>
        <TextField
          label={t("Name")}
          value={theme}
          change={setTheme}
          isRequired
          autoFocus
          placeholder="Dark"
          error={errorOf("name", problem)} />
      </Form>
    </Dialog>
  );
}
