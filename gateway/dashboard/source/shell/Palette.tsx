// The command palette: goes anywhere, by a few letters. The names of the app's data are read when the first is typed.

import { useEffect, useMemo, useRef, useState } from "react";
import { may, signOut } from "../api/session";
import { Icon, IconName } from "../system/icons";
import { useLoad } from "../system/load";
import { go } from "../system/router";
import { t } from "../text";
import { isDark, setLook } from "./App";
import type { Named } from "./names";
import { groups, serverEntries } from "./navigation";
import { addressOf, AppInfo, Place } from "./place";

interface Command {
  title: string;
  hint: string;
  icon: IconName;
  act: () => void;
}

export function Palette({ apps, place, close }: { apps: AppInfo[]; place: Place | null; close: () => void }) {
  const element = useRef<HTMLDialogElement | null>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  useEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) dialog.showModal();
  }, []);
  const commands = useMemo(() => makeCommands(apps, place, text), [apps, place, text]);
  const areNamesNeeded = useRef(false);
  areNamesNeeded.current ||= text.trim() !== "";
  const names = useLoad(
    async () => (place && areNamesNeeded.current ? (await import("./names")).readNames(place) : []),
    [place?.app.id, place?.environment, areNamesNeeded.current]
  );
  // At the end, so that no command moves when they arrive.
  const found = useMemo(
    () => [...search(commands, text), ...(text.trim() ? search((names.data ?? []).map(commandOf), text) : [])],
    [commands, names.data, text]
  );
  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
    command.act();
  };
  const key = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      const next = (at + step + found.length) % Math.max(found.length, 1);
      setAt(next);
      document.getElementById("command-" + next)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(found[at]);
    }
  };
  return (
    <dialog
      className="palette"
      ref={element}
      aria-label={t("Search and commands")}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onMouseDown={(event) => event.target === event.currentTarget && close()}>
      <input
        autoFocus
        value={text}
        placeholder={t("Go to a page, an app, a name, a ticket (APP-12), a crash (#7)")}
        role="combobox"
        aria-expanded="true"
        aria-controls="commands"
        aria-activedescendant={"command-" + at}
        aria-label={t("Search and commands")}
        onKeyDown={key}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }} />
      <ul id="commands" role="listbox">
        {found.map((command, index) => (
          <li
            key={command.title + command.hint}
            id={"command-" + index}
            role="option"
            aria-selected={index === at}
            onMouseMove={() => setAt(index)}
            onClick={() => run(command)}>
            <Icon name={command.icon} />
            {command.title}
            <span className="faint">{command.hint}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <p className="none">{names.isLoading ? t("Loading") : t("Nothing has this name.")}</p>
      )}
    </dialog>
  );
}

const commandOf = ({ name, kind, icon, address }: Named): Command => ({
  title: name,
  hint: kind,
  icon,
  act: () => go(address)
});

function makeCommands(apps: AppInfo[], place: Place | null, text: string): Command[] {
  const commands: Command[] = [];
  const number = /^(?:[A-Za-z]+-|#)?(\d{1,9})$/.exec(text.trim())?.[1];
  if (place && number) {
    if (place.may("tickets", "read")) {
      commands.push({
        title: text.trim(),
        hint: t("Ticket {number}", { number }),
        icon: "tickets",
        act: () => go(place.to("tickets/" + number))
      });
    }
    if (place.may("crashes", "read")) {
      commands.push({
        title: text.trim(),
        hint: t("Crash {number}", { number }),
        icon: "crash",
        act: () => go(place.to("crashes/" + number))
      });
    }
  }
  if (place) {
    for (const group of groups) {
      for (const entry of group.entries) {
        if (entry.area && !place.may(entry.area, "read")) continue;
        commands.push({
          title: t(entry.title),
          hint: place.app.name,
          icon: entry.icon,
          act: () => go(place.to(entry.page))
        });
      }
    }
    if (place.may("tickets", "create")) {
      commands.push({
        title: t("New ticket"),
        hint: t("Tickets"),
        icon: "plus",
        act: () => go(place.to("tickets", { new: "1" }))
      });
    }
    if (place.may("notifications", "create")) {
      commands.push({
        title: t("New push message"),
        hint: t("Push"),
        icon: "plus",
        act: () => go(place.to("push/new"))
      });
    }
  }
  for (const entry of serverEntries) {
    if (!entry.area || may(entry.area, "read")) {
      commands.push({
        title: t(entry.title),
        hint: t("Server"),
        icon: entry.icon,
        act: () => go(entry.page)
      });
    }
  }
  if (place) {
    const other = place.environment === "live" ? "test" : "live";
    commands.push({
      title: other === "test" ? t("Switch to the test environment") : t("Switch to the live environment"),
      hint: place.app.name,
      icon: "config",
      act: () => go(addressOf(place.app.id, other, place.version, "overview"))
    });
  }
  for (const app of apps) {
    commands.push({
      title: app.name,
      hint: t("Switch app"),
      icon: "apps",
      act: () => go(addressOf(app.id, place?.environment ?? "live", "", "overview"))
    });
  }
  commands.push(
    {
      title: isDark() ? t("Light appearance") : t("Dark appearance"),
      hint: "",
      icon: "config",
      act: () => setLook(isDark() ? "light" : "dark")
    },
    { title: t("Account and security"), hint: "", icon: "staff", act: () => go("/account") },
    { title: t("Sign out"), hint: "", icon: "staff", act: () => void signOut() }
  );
  return commands;
}

/** Commands whose words begin with the words that were typed, the best first. */
function search(commands: Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return commands.slice(0, 30);
  const score = (command: Command) => {
    const title = command.title.toLowerCase();
    const all = (title + " " + command.hint.toLowerCase()).split(/[\s/]+/);
    if (!words.every((word) => all.some((one) => one.startsWith(word)) || title.includes(word))) return -1;
    return title.startsWith(words.join(" ")) ? 2 : 1;
  };
  return commands.map((command) => ({ command, rank: score(command) })).filter((one) => one.rank > 0)
    .sort((a, b) => b.rank - a.rank).slice(0, 30).map((one) => one.command);
}
