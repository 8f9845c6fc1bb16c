import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListVersions: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}/versions", "listVersions", "Lists the app's versions, newest first.",
        callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .query("after", .string, "The `next` of the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        details: "Versions are compared by their parts: 1.10 is newer than 1.9.",
        answers: [
            .answer(
                200, "A page of versions.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .version),
                            "next": .string.described("The `after` of the next page, if there is one."),
                        ], required: ["count", "data"])))
        ],
        errors: [404: "The server has no such app (`app-not-found`)."])

    let versions: VersionStore
    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.readableApp()
        let limit = try context.integer("limit")
        var after: VersionNumber?
        if let text = request.uri.queryParameters["after"] {
            after = VersionNumber(String(text))
            if after == nil {
                throw ServiceError.unexpectedParameter("after", expected: "a version number such as 2.10", found: text)
            }
        }
        guard try await apps.read(id) != nil else { throw ServiceError(.appNotFound) }
        let list = try await versions.list(of: id, after: after, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last?.number : nil)
    }
}

struct CreateVersion: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/versions", "createVersion", "Creates a version of the app.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id.")
        ],
        details: """
            An app may have at most 1,000 versions. A version that is released without a `releaseDate` gets the \
            current day.
            """,
        body: .json(
            .object(
                [
                    "number": .string,
                    "build": .string.maxLength(64),
                    "state": .oneOf("planned", "released"),
                    "releaseDate": .day.nullable,
                    "notes": .map(of: .string.maxLength(4_000)).described(
                        "The release notes: an object from language (BCP 47) to text."),
                ], required: ["number"])),
        answers: [
            .answer(201, "The version as stored.", .json(.version))
        ],
        errors: [
            404: "The server has no such app (`app-not-found`).",
            409: "The app is archived, or has a version with this number (`conflict`).",
        ])

    let versions: VersionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let fields = try await BodyFields(request, VersionChange.fields)
        let number = try VersionNumber(try fields.requiredString("number"), field: "number")
        return .created(try await versions.create(number, try fields.versionChange(), of: id, by: author))
    }
}

struct ReadVersion: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}/versions/{version}", "readVersion", "Returns a version of the app.",
        callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .appVersion,
        ],
        answers: [
            .answer(200, "The version.", .json(.version))
        ],
        errors: [404: "The app has no such version (`version-not-found`)."])

    let versions: VersionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.readableApp()
        guard let version = try await versions.read(try context.version, of: id) else {
            throw ServiceError(.versionNotFound)
        }
        return .json(version)
    }
}

struct ChangeVersion: Endpoint {
    static let route = Route(
        .patch, "/admin/apps/{app}/versions/{version}", "changeVersion",
        "Changes a version of the app.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .appVersion,
        ],
        details: """
            Each field that is sent replaces the stored value. A version that is released without a \
            `releaseDate` gets the current day.
            """,
        body: .json(
            .object(
                [
                    "number": .string,
                    "build": .string.maxLength(64),
                    "state": .oneOf("planned", "released"),
                    "releaseDate": .day.nullable,
                    "notes": .map(of: .string.maxLength(4_000)).described(
                        "The release notes: an object from language (BCP 47) to text."),
                ])),
        answers: [
            .answer(200, "The changed version.", .json(.version))
        ],
        errors: [
            404: "There is no such app (`app-not-found`), or it has no such version (`version-not-found`).",
            409: "The app is archived, or has another version with this number (`conflict`).",
        ])

    let versions: VersionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let change = try await BodyFields(request, VersionChange.fields).versionChange()
        guard let version = try await versions.change(try context.version, change, of: id, by: author) else {
            throw ServiceError(.versionNotFound)
        }
        return .json(version)
    }
}

struct DeleteVersion: Endpoint {
    static let route = Route(
        .delete, "/admin/apps/{app}/versions/{version}", "deleteVersion",
        "Deletes a version of the app with its pictures.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .appVersion,
        ],
        answers: [
            .answer(204, "The version is deleted.")
        ],
        errors: [
            404: "There is no such app (`app-not-found`), or it has no such version (`version-not-found`).",
            409: "The app is archived (`conflict`).",
        ])

    let versions: VersionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        guard try await versions.delete(try context.version, of: id, by: author) else {
            throw ServiceError(.versionNotFound)
        }
        return Response(status: .noContent)
    }
}

struct AddPicture: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/versions/{version}/pictures", "addPicture",
        "Adds a picture to a version.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .appVersion,
        ],
        details: """
            The picture must be PNG, JPEG or WebP and have at most 4 MiB. The type is detected from the bytes; \
            `Content-Type` is ignored. A version may have at most 20 pictures; a new one becomes the last.
            """,
        body: .contents(.type("image/png", .bytes), .type("image/jpeg", .bytes), .type("image/webp", .bytes)),
        answers: [
            .answer(201, "The picture's properties.", .json(.picture))
        ],
        errors: [
            404: "There is no such app (`app-not-found`), or it has no such version (`version-not-found`).",
            409: "The app is archived (`conflict`).",
            415: "The body is not a PNG, JPEG or WebP picture (`unsupported-media-type`).",
        ])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let version = try context.version
        let picture = try await request.picture(upTo: Picture.maximumSizeInBytes)
        return .created(try await pictures.add(picture, to: version, of: id, by: author))
    }
}

struct OrderPictures: Endpoint {
    static let route = Route(
        .put, "/admin/apps/{app}/versions/{version}/pictures", "orderPictures",
        "Changes the order of a version's pictures.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .appVersion,
        ],
        body: .json(
            .object(
                [
                    "pictures": .array(of: .uuid).described(
                        "The ids of all pictures of the version, in their new order.")
                ], required: ["pictures"])),
        answers: [
            .answer(200, "The version with its pictures in the new order.", .json(.version))
        ],
        errors: [
            404: "There is no such app (`app-not-found`), or it has no such version (`version-not-found`).",
            409: "The app is archived (`conflict`).",
        ])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let fields = try await BodyFields(request, ["pictures"])
        let texts = try fields.texts(
            "pictures", upTo: PictureStore.maximumPicturesPerVersion, expected: "a picture's id (a UUID)"
        ) {
            UUID(uuidString: $0) != nil
        }
        guard let texts else { throw ServiceError(.invalidBody, "This field is required.", field: "pictures") }
        let version = try await pictures.order(
            texts.compactMap { UUID(uuidString: $0) }, of: try context.version, of: id, by: author)
        guard let version else { throw ServiceError(.versionNotFound) }
        return .json(version)
    }
}

struct ReadPicture: Endpoint {
    static let route = Route(
        .get, "/admin/apps/{app}/versions/{version}/pictures/{id}", "readPicture", "Returns a picture of a version.",
        callers: .staffOfApp(.read, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .appVersion,
            .path("id", .uuid),
        ],
        answers: [
            .answer(
                200, "The picture.", .type("image/png", .bytes), .type("image/jpeg", .bytes),
                .type("image/webp", .bytes)),
            .answer(304, "The picture has the entity tag in `If-None-Match`."),
        ],
        errors: [404: "The version has no such picture (`picture-not-found`)."])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let app = try context.readableApp()
        guard let picture = try await pictures.picture(try context.pictureID, of: try context.version, of: app) else {
            throw ServiceError(.pictureNotFound)
        }
        return .picture(picture, to: request)
    }
}

struct DeletePicture: Endpoint {
    static let route = Route(
        .delete, "/admin/apps/{app}/versions/{version}/pictures/{id}", "deletePicture",
        "Deletes a picture of a version.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .appVersion,
            .path("id", .uuid),
        ],
        answers: [
            .answer(204, "The picture is deleted.")
        ],
        errors: [
            404: """
            There is no such app (`app-not-found`), or the version has no such picture \
            (`picture-not-found`).
            """, 409: "The app is archived (`conflict`).",
        ])

    let pictures: PictureStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (app, author) = try context.changeableApp(request)
        guard try await pictures.delete(try context.pictureID, of: try context.version, of: app, by: author) else {
            throw ServiceError(.pictureNotFound)
        }
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    /// The version number in the path. A malformed number is `version-not-found`.
    fileprivate var version: VersionNumber {
        get throws {
            guard let version = parameters.get("version").flatMap({ VersionNumber($0) }) else {
                throw ServiceError(.versionNotFound)
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
            throw ServiceError.unexpectedMember("state", expected: "planned or released", found: text)
        }
        return state
    }

    /// A day (RFC 3339 §5.6, full-date).
    private func date(_ name: String) throws -> String? {
        guard let text = try string(name) else { return nil }
        guard CalendarDay(text) != nil else {
            throw ServiceError.unexpectedMember(name, expected: "a day such as 2026-11-22", found: text)
        }
        return text
    }

    private func notes() throws -> String? {
        guard let value = self["notes"], value != .null else { return nil }
        guard case .object(let members) = value else {
            throw ServiceError(
                .invalidBody, "Expected an object that maps languages to texts, found \(value.phrase).", field: "notes")
        }
        guard members.count <= VersionChange.maximumLanguages else {
            throw ServiceError(
                .invalidBody,
                "Expected at most \(VersionChange.maximumLanguages) languages, found \(members.count).", field: "notes")
        }
        var languages = Set<LanguageTag>()
        let notes = try members.map { member in
            let field = "notes." + member.name
            guard let language = LanguageTag(member.name) else {
                throw ServiceError.unexpectedMember(
                    field, expected: "a language such as en or pt-BR (BCP 47)", found: member.name)
            }
            guard languages.insert(language).inserted else {
                throw ServiceError(.invalidBody, "The notes contain this language twice.", field: field)
            }
            guard case .string(let text) = member.value, text.unicodeScalars.count <= VersionChange.maximumNotesLength
            else {
                throw ServiceError(
                    .invalidBody, "Expected a string of at most \(VersionChange.maximumNotesLength) characters.",
                    field: field)
            }
            return JSONValue.Member(language.text, .string(text))
        }
        return JSONValue.object(notes).text
    }
}
