import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /admin/apps/{app}/versions?after=&limit=`: from the newest down, 1.10 before 1.9.
///
/// `next`, where there are more, is the `after` of the next page.
struct ListVersions: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}/versions", "listVersions", "Versions, the newest first: 1.10 before 1.9.",
        callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .query("after", .string, "`next` of the page before."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .version),
                            "next": .string.described("`after` of the next page."),
                        ], required: ["count", "data"])))
        ])

    let versions: VersionStore
    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.readableApp()
        let limit = try context.integer("limit")
        var after: VersionNumber?
        if let text = request.uri.queryParameters["after"] {
            after = VersionNumber(String(text))
            if after == nil { throw HTTPProblem(.invalidParameter, "It must be a version's number.", field: "after") }
        }
        guard try await apps.read(id) != nil else { throw HTTPProblem(.appNotFound) }
        let list = try await versions.list(of: id, after: after, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.number : nil)
    }
}

/// `POST /admin/apps/{app}/versions` with `number` and perhaps `build`, `state` (`planned` or `released`),
/// `releaseDate`, `notes`: 201.
struct CreateVersion: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/versions", "createVersion", "Makes a version.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        body: .json(
            .object(
                [
                    "number": .string,
                    "build": .string.maxLength(64),
                    "state": .oneOf("planned", "released"),
                    "releaseDate": .day.nullable,
                    "notes": .map(of: .string.maxLength(4_000)).described("Language (BCP 47) to text."),
                ], required: ["number"])),
        answers: [
            .answer(201, "The version is made.", .json(.version))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let versions: VersionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let fields = try await BodyFields(request, VersionChange.fields)
        let number = try VersionNumber(try fields.requiredString("number"), field: "number")
        return .made(try await versions.create(number, try fields.versionChange(), of: id, by: author))
    }
}

/// `GET /admin/apps/{app}/versions/{version}`
struct ReadVersion: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}/versions/{version}", "readVersion", "A version.",
        callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("version", .string, "The version's number, such as 2.10."),
        ],
        answers: [
            .answer(200, "Done.", .json(.version))
        ])

    let versions: VersionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.readableApp()
        guard let version = try await versions.read(try context.version, of: id) else {
            throw HTTPProblem(.versionNotFound)
        }
        return .json(version)
    }
}

/// `PATCH /admin/apps/{app}/versions/{version}` with what `CreateVersion` takes; each takes the place of what was
/// there. 200 with the version.
struct ChangeVersion: Endpoint {
    static let route = Route(
        .patch, "/admin/apps/{app}/versions/{version}", "changeVersion",
        "Changes a version; each field takes the place of what was there.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("version", .string, "The version's number, such as 2.10."),
        ],
        body: .json(
            .object(
                [
                    "number": .string,
                    "build": .string.maxLength(64),
                    "state": .oneOf("planned", "released"),
                    "releaseDate": .day.nullable,
                    "notes": .map(of: .string.maxLength(4_000)).described("Language (BCP 47) to text."),
                ])),
        answers: [
            .answer(200, "Done.", .json(.version))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let versions: VersionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let change = try await BodyFields(request, VersionChange.fields).versionChange()
        guard let version = try await versions.change(try context.version, change, of: id, by: author) else {
            throw HTTPProblem(.versionNotFound)
        }
        return .json(version)
    }
}

/// `DELETE /admin/apps/{app}/versions/{version}`, 204. Its pictures go with it.
struct DeleteVersion: Endpoint {
    static let route = Route(
        .delete, "/admin/apps/{app}/versions/{version}", "deleteVersion", "Deletes a version with its pictures.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("version", .string, "The version's number, such as 2.10."),
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let versions: VersionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        guard try await versions.delete(try context.version, of: id, by: author) else {
            throw HTTPProblem(.versionNotFound)
        }
        return Response(status: .noContent)
    }
}

/// `POST /admin/apps/{app}/versions/{version}/pictures` with the picture as its body: 201, behind those that are there.
struct AddPicture: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/versions/{version}/pictures", "addPicture",
        "Adds a picture: PNG, JPEG or WebP of at most 4 MiB, told by its bytes; 20 of a version.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("version", .string, "The version's number, such as 2.10."),
        ],
        body: .contents(.type("image/png", .bytes), .type("image/jpeg", .bytes), .type("image/webp", .bytes)),
        answers: [
            .answer(201, "The picture is added.", .json(.picture))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let version = try context.version
        let picture = try await request.picture(upTo: Picture.maximumSizeInBytes)
        return .made(try await pictures.add(picture, to: version, of: id, by: author))
    }
}

/// `PUT /admin/apps/{app}/versions/{version}/pictures` with `pictures`, the ids of all of them in the order they shall
/// have. 200 with the version.
struct OrderPictures: Endpoint {
    static let route = Route(
        .put, "/admin/apps/{app}/versions/{version}/pictures", "orderPictures", "Puts the pictures in an order.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("version", .string, "The version's number, such as 2.10."),
        ],
        body: .json(
            .object(
                [
                    "pictures": .array(of: .uuid).described("The ids of all of them.")
                ], required: ["pictures"])),
        answers: [
            .answer(200, "The version.", .json(.version))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let fields = try await BodyFields(request, ["pictures"])
        let texts = try fields.texts("pictures", upTo: PictureStore.maximumPicturesPerVersion, "These must be ids.") {
            UUID(uuidString: $0) != nil
        }
        guard let texts else { throw HTTPProblem(.invalidBody, "This field is required.", field: "pictures") }
        let version = try await pictures.order(
            texts.compactMap { UUID(uuidString: $0) }, of: try context.version, of: id, by: author)
        guard let version else { throw HTTPProblem(.versionNotFound) }
        return .json(version)
    }
}

/// `GET /admin/apps/{app}/versions/{version}/pictures/{id}`
struct ReadPicture: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}/versions/{version}/pictures/{id}", "readPicture", "A picture of a version.",
        callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("version", .string, "The version's number, such as 2.10."),
            .path("id", .uuid),
        ],
        answers: [
            .answer(
                200, "The picture.", .type("image/png", .bytes), .type("image/jpeg", .bytes),
                .type("image/webp", .bytes)),
            .answer(304, "Not modified."),
        ])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let app = try context.readableApp()
        guard let picture = try await pictures.picture(try context.pictureID, of: try context.version, of: app) else {
            throw HTTPProblem(.pictureNotFound)
        }
        return .picture(picture, to: request)
    }
}

/// `DELETE /admin/apps/{app}/versions/{version}/pictures/{id}`, 204.
struct DeletePicture: Endpoint {
    static let route = Route(
        .delete, "/admin/apps/{app}/versions/{version}/pictures/{id}", "deletePicture", "Deletes a picture.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .path("version", .string, "The version's number, such as 2.10."),
            .path("id", .uuid),
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (app, author) = try context.changeableApp(request)
        guard try await pictures.delete(try context.pictureID, of: try context.version, of: app, by: author) else {
            throw HTTPProblem(.pictureNotFound)
        }
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    /// The number in the path. What is no number is no version's.
    fileprivate var version: VersionNumber {
        get throws {
            guard let version = parameters.get("version").flatMap({ VersionNumber($0) }) else {
                throw HTTPProblem(.versionNotFound)
            }
            return version
        }
    }

    fileprivate var pictureID: UUID {
        get throws { try uuid("id", else: .pictureNotFound) }
    }
}

extension VersionChange {
    fileprivate static let fields: Set<String> = ["number", "build", "state", "releaseDate", "notes"]
    static let maximumNotesLength = 4_000
    fileprivate static let maximumLanguages = 100
}

extension BodyFields {
    fileprivate func versionChange() throws -> VersionChange {
        VersionChange(
            number: try string("number").map { try VersionNumber($0, field: "number") },
            build: try text("build", upTo: 64), state: try state(),
            releaseDate: try change("releaseDate", date), notes: try notes())
    }

    private func state() throws -> VersionChange.State? {
        guard let text = try string("state") else { return nil }
        guard let state = VersionChange.State(rawValue: text) else {
            throw HTTPProblem(.invalidBody, "This must be planned or released.", field: "state")
        }
        return state
    }

    /// A day (RFC 3339 §5.6, full-date).
    private func date(_ name: String) throws -> String? {
        guard let text = try string(name) else { return nil }
        guard CalendarDay(text) != nil else {
            throw HTTPProblem(.invalidBody, "This must be a day such as 2026-11-22.", field: name)
        }
        return text
    }

    private func notes() throws -> String? {
        guard let value = self["notes"], value != .null else { return nil }
        guard case .object(let members) = value else {
            throw HTTPProblem(.invalidBody, "This must be an object, language to text.", field: "notes")
        }
        guard members.count <= VersionChange.maximumLanguages else {
            throw HTTPProblem(
                .invalidBody, "There may be at most \(VersionChange.maximumLanguages) languages.", field: "notes")
        }
        var languages = Set<LanguageTag>()
        let notes = try members.map { member in
            let field = "notes." + member.name
            guard let language = LanguageTag(member.name) else {
                throw HTTPProblem(.invalidBody, "This is not a language such as en or pt-BR (BCP 47).", field: field)
            }
            guard languages.insert(language).inserted else {
                throw HTTPProblem(.invalidBody, "This language is there twice.", field: field)
            }
            guard case .string(let text) = member.value, text.unicodeScalars.count <= VersionChange.maximumNotesLength
            else {
                throw HTTPProblem(
                    .invalidBody, "This must be a string of at most \(VersionChange.maximumNotesLength) characters.",
                    field: field)
            }
            return JSONValue.Member(language.text, .string(text))
        }
        return JSONValue.object(notes).text
    }
}
