/// A part of the API, as the reference groups its calls.
public struct RouteSection: Sendable, Hashable {
    public let name: String
    public let text: String

    public static let objects = RouteSection(
        name: "objects", text: "The objects of an app. Needs the app's secret or a master key.")
    public static let collections = RouteSection(
        name: "collections", text: "Management of collections and indexes. Needs a master key.")
    public static let roles = RouteSection(name: "roles", text: "Roles of the app's end users. Needs a master key.")
    public static let files = RouteSection(name: "files", text: "Files by path, signed links, resumable uploads.")
    public static let users = RouteSection(
        name: "users",
        text: """
            The end users of an app and their sessions. Calls about the user who is signed in need an access \
            token in `Authorization: Bearer …` beside the app's secret; every other call takes one, too, and \
            then has the user's rights.
            """)
    public static let staff = RouteSection(
        name: "staff", text: "The people who run the server, their rights, and the log of what they did.")
    public static let apps = RouteSection(
        name: "apps", text: "Apps, their versions and keys, for staff with rights in the area `applications`.")
    public static let provider = RouteSection(
        name: "provider",
        text: """
            The app's OIDC provider, by which other applications let its users sign in. What is under /oidc \
            needs no key of the app.
            """)
    public static let transfers = RouteSection(
        name: "transfers", text: "Import, export, jobs, the test environment. Needs a master key.")
    public static let hooks = RouteSection(
        name: "hooks",
        text: """
            Webhooks before and after writes, and functions. Needs a master key, but for calling functions.
            """)
    public static let config = RouteSection(
        name: "config",
        text: """
            Documents of the config service: drafts, versions that never change, and what is live. Needs a \
            master key; staff with rights in the areas `config`, `experiments` or `languages` reach everything \
            under `/api/{appKey}/config` under `/admin/apps/{app}/config`, too.
            """)
    public static let flags = RouteSection(
        name: "flags",
        text: """
            Typed parameters and flags, evaluated by the server. OFREP (OpenFeature) for programs by others, one \
            call for the app itself.
            """)
    public static let analytics = RouteSection(
        name: "analytics",
        text: """
            Events as they are sent. What only sends needs an ingest key, or the app's secret; settings need a \
            master key, or staff's rights in the area `analytics` under `/admin/apps/{app}/…`.
            """)
    public static let questions = RouteSection(
        name: "questions",
        text: """
            Questions about an app's events. Needs a master key; staff with the right to read in the area \
            `analytics` reach everything under `/api/{appKey}/analytics` under `/admin/apps/{app}/analytics`, \
            too. What each number means is in docs/how-to/ask-analytics.md.
            """)
    public static let crashes = RouteSection(
        name: "crashes",
        text: """
            Crash reports and their issues. Needs a master key; staff with rights in the area `crashes` reach \
            everything under `/api/{appKey}/crashes` under `/admin/apps/{app}/crashes`, too.
            """)
    public static let symbols = RouteSection(
        name: "symbols",
        text: """
            Debug symbols: uploads as `sentry-cli` makes them, and what is there. Uploads go by a master key as \
            bearer token and are reached under `/api/0/…`, too: `sentry-cli` knows only servers at the root of \
            their address. Their refusals are `application/json` with `detail` alone, which is all that it \
            reads. Staff with rights in the area `crashes` reach `/api/{appKey}/crashes/symbols` under \
            `/admin/apps/{app}/crashes/symbols`, too.
            """)
    public static let tickets = RouteSection(
        name: "tickets",
        text: """
            Tickets, the board and sprints of who works on an app. Needs a master key; staff with rights in the \
            area `tickets` reach everything under `/api/{appKey}/tickets` under `/admin/apps/{app}/tickets`, \
            too. Feedback comes from clients.
            """)
    public static let notifications = RouteSection(
        name: "notifications",
        text: """
            Push credentials and apps on devices. What an app says of itself needs the app's secret, and the \
            installation's own in `Installation-Secret`; the rest needs a master key. Staff with rights in the \
            area `notifications` reach everything under `/api/{appKey}/notifications` under \
            `/admin/apps/{app}/notifications`, too.
            """)
    public static let mail = RouteSection(
        name: "mail",
        text: """
            Mail of an app to people. Needs a master key; staff with rights in the area `notifications` reach \
            everything under `/api/{appKey}/notifications` under `/admin/apps/{app}/notifications`, too. What is \
            under /mail/unsubscribe needs nothing but the link of a mail.
            """)

    /// In the order of the reference.
    public static let all: [RouteSection] = [
        .objects, .collections, .roles, .files, .users, .staff, .apps, .provider, .transfers, .hooks, .config, .flags,
        .analytics, .questions, .crashes, .symbols, .tickets, .notifications, .mail,
    ]
}
