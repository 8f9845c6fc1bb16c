import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /admin/apps?archived=&after=&limit=`: the apps in which the staff member has any right, in the order in which
/// they were made. Of an app whose `applications` they may not read: id, number, name and whether it is archived.
///
/// `next`, where there are more, is the `after` of the next page.
struct ListApps: Endpoint {
    static let route = Route(
        .get, "/admin/apps", "listApps",
        "The apps in which the staff member has any right, in the order in which they were made.",
        callers: .signedInStaff,
        parameters: [
            .query("archived", .boolean.defaulting(to: false), "Those out of use instead."),
            .query("after", .integer, "`next` of the page before."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        details: """
            Of an app whose `applications` the member may not read: `id`, `number`, `name` and `archived`.
            """,
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .anyOf(
                                    .app,
                                    .appName)),
                            "next": .string.described("`after` of the next page."),
                        ], required: ["count", "data"])))
        ])

    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let staff = try context.signedInStaff
        let limit = try context.integer("limit")
        let after = try request.number("after", default: 0, in: 0...Int(Int32.max))
        let list = try await apps.list(
            staff.apps { !$0.isEmpty }, readable: staff.apps { $0[.applications]?.contains(.read) == true },
            areArchived: try request.flag("archived"), after: after, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { String($0.number) } : nil)
    }
}

extension StaffGrant {
    /// The apps in which the member's rights are as asked for. Rights in the server's own areas are not rights in an
    /// app.
    fileprivate func apps(_ isMeant: (StaffRights.Areas) -> Bool) -> AppStore.Selection {
        let everywhere = rights.apps[StaffRights.everyApp]?.filter { !$0.key.isOfServer } ?? [:]
        if isAdministrator || isMeant(everywhere) { return .all }
        return .only(rights.apps.filter { $0.key != StaffRights.everyApp && isMeant($0.value) }.map(\.key))
    }
}

/// `POST /admin/apps` with `name` and perhaps `bundleIds`, `storeId`, `settings`: 201 with `{"app":…,"keys":…}`, a
/// first set of keys that is shown this once.
struct CreateApp: Endpoint {
    static let route = Route(
        .post, "/admin/apps", "createApp", "Makes an app with its first keys, which are shown this once.",
        callers: .staff(.create, .applications),
        details: "Needs the right to create for every app.",
        body: .json(
            .object(
                [
                    "name": .string.length(1, 200),
                    "bundleIds": .array(of: .string).maxItems(20),
                    "storeId": .string.pattern(#"^[0-9]{1,20}$"#).nullable,
                    "settings": .object,
                ], required: ["name"])),
        answers: [
            .answer(
                201, "The app is made.",
                .json(
                    .object(
                        [
                            "app": .app,
                            "keys": .object.keyword("additionalProperties", true),
                        ], required: ["app", "keys"])))
        ])

    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let author = AppAuthor(staff: try context.staff(may: .create, .applications), address: request.staffAddress)
        let change = try await BodyFields(request, AppChange.fields).appChange()
        guard let name = change.name else { throw HTTPProblem(.invalidBody, "This field is required.", field: "name") }
        let made = try await apps.create(name, change, by: author)
        let keys = try JSONValue(encoding: made.keys).text
        return .made(#"{"app":\#(made.json),"keys":\#(keys)}"#, at: "/admin/apps/\(made.keys.appId)").notStored
    }
}

/// `GET /admin/apps/{app}`; archived ones, too.
struct ReadApp: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}", "readApp", "An app, archived ones too.", callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        answers: [
            .answer(200, "Done.", .json(.app))
        ])

    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let app = try await apps.read(try context.readableApp()) else { throw HTTPProblem(.appNotFound) }
        return .json(app)
    }
}

/// `PATCH /admin/apps/{app}` with `name`, `bundleIds`, `storeId`, `settings`; each takes the place of what was there.
/// 200 with the app.
struct ChangeApp: Endpoint {
    static let route = Route(
        .patch, "/admin/apps/{app}", "changeApp", "Changes an app; each field takes the place of what was there.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        body: .json(
            .object(
                [
                    "name": .string.length(1, 200),
                    "bundleIds": .array(of: .string).maxItems(20),
                    "storeId": .string.pattern(#"^[0-9]{1,20}$"#).nullable,
                    "settings": .object,
                ])),
        answers: [
            .answer(200, "Done.", .json(.app))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        return .json(try await apps.change(id, try await BodyFields(request, AppChange.fields).appChange(), by: author))
    }
}

/// `POST /admin/apps/{app}/archive` and `…/restore`: takes the app out of use, its keys within two seconds, or back
/// into it; its data stay. 200 with the app.
struct ArchiveApp: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/archive", "archiveApp",
        "Takes an app out of use: its keys end within two seconds, its data stay.",
        callers: .staffOfApp(.delete, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: "Needs the right to delete.",
        answers: [
            .answer(200, "Done.", .json(.app))
        ])
    static let restoreApp = route.at("/admin/apps/{app}/restore", "restoreApp", "Brings an archived app back into use.")

    let apps: AppStore
    /// Whether it is archived then.
    let archives: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request, .delete)
        return .json(try await apps.setArchived(archives, id, by: author))
    }
}
