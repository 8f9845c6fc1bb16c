// Line icons on a grid of 16, drawn for this dashboard.

const paths = {
  overview: "M2 9h5V2H2zM9 14h5V7H9zM2 14h5v-3H2zM9 5h5V2H9z",
  data:
    "M8 2c3.3 0 6 .9 6 2s-2.7 2-6 2-6-.9-6-2 2.7-2 6-2zM2 4v8c0 1.1 2.7 2 6 2s6-.9 6-2V4M2 8c0 1.1 2.7 2 6 2s6-.9 6-2",
  users:
    "M6 7.5A2.5 2.5 0 1 0 6 2.500a2.500 2.500 0 0 0 0 5zM1.500 13.500c0-2.500 2-4 4.500-4s4.500 1.500 4.500 4M10.500 3a2.200 2.200 0 0 1 0 4.200M12 9.700c1.500.5 2.500 1.800 2.500 3.800",
  config:
    "M2 4.500h6M12 4.500h2M2 11.500h2M8 11.500h6M10 6.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM6 13.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  flag: "M3 14V2.500M3 3h8.500l-2 3 2 3H3",
  experiment:
    "M6 2h4M6.500 2v4.500L2.500 13c-.4.700 0 1.500.9 1.500h9.200c.9 0 1.300-.8.9-1.500l-4-6.500V2M4.700 10h6.600",
  languages:
    "M2 3.500h7M5.500 2v1.500M7.500 3.500c-.5 3-2.500 5-5 6M4 6c1 2 2.500 3 4 3.500M8 14l3-7.500 3 7.500M9 11.500h4",
  analytics: "M2 14h12M4 11V8M8 11V3M12 11V6",
  crash: "M8 2l6.500 11.500h-13zM8 6.500v3.500M8 12v.1",
  tickets: "M2 3h3.500v10H2zM7 3h3v6.500H7zM11.500 3H14v4h-2.500z",
  push: "M4 11V7a4 4 0 0 1 8 0v4l1.500 1.500h-11zM6.500 14h3",
  mail: "M2 3.500h12v9H2zM2 4l6 5 6-5",
  keys: "M5.500 13.500a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM7.500 8.500L13.500 2.500M11 5l2 2",
  apps: "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z",
  staff: "M8 7.500A2.700 2.700 0 1 0 8 2a2.700 2.700 0 0 0 0 5.500zM3 14c0-2.800 2.200-4.500 5-4.500s5 1.700 5 4.500",
  audit: "M4 2h8v12H4zM6 5h4M6 8h4M6 11h2",
  status: "M1.500 8.500h3l2-5 3 9 2-4h3",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.500 10.500L14 14",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M3.500 3.500l9 9M12.500 3.500l-9 9",
  plus: "M8 3v10M3 8h10",
  check: "M3 8.500l3.500 3.500L13 4.500",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4L6 8l4 4",
  copy: "M5.500 5.500V2.500h8v8h-3M2.500 5.500h8v8h-8z",
  trash: "M2.500 4h11M6 4V2.500h4V4M4 4l.7 9.500h6.600L12 4",
  external: "M9 2.500h4.500V7M13.500 2.500L7 9M6 3.500H2.500v10h10V10",
  filter: "M2 3h12L9.500 8.500V13l-3 1V8.500z",
  download: "M8 2v8M4.500 7L8 10.500 11.500 7M2.500 13.500h11",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.500V8l2.500 2",
  more: "M3.500 8v.1M8 8v.1M12.500 8v.1",
  comment: "M2 3h12v8H7l-3 2.500V11H2z",
  link:
    "M6.500 9.500l3-3M7 4.500l1.500-1.500a2.800 2.800 0 0 1 4 4L11 8.500M9 11.500L7.500 13a2.800 2.800 0 0 1-4-4L5 7.500",
  file: "M4 2h5.500L12.500 5v9H4zM9 2v3.500h3.500",
  folder: "M2 4h4l1.500 2H14v7H2z",
  upload: "M8 10.500V2.500M4.500 6L8 2.500 11.500 6M2.500 13.500h11",
  shield: "M8 2l5.500 2v4c0 3-2.500 5-5.500 6-3-1-5.500-3-5.500-6V4z",
  code: "M5.500 4.500L2 8l3.500 3.500M10.500 4.500L14 8l-3.500 3.500"
};

export type IconName = keyof typeof paths;

/** Decorative: what it stands beside, or its button's label, says the same in words. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** The martlet: a swallow that never lands. */
export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M5 11c5 0 8 2 10 5 1-4 4-7 11-8-3 2-4 4-4 7 0 5-3 9-9 10l-3 3 1-5c-3-2-5-6-6-12z" />
    </svg>
  );
}
