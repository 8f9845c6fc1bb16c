import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /admin/apps/{app}/versions?after=&limit=`: from the newest down, 1.10 before 1.9.
///
/// `next`, where there are more, is the `after` of the next page.
struct ListVersions: Endpoint {
    let versions: VersionStore
    let apps: AppStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.readableApp()
        try request.allowParameters(["after", "limit"])
        let limit = try request.number("limit", default: 100, in: 1...1000)
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
        get throws {
            guard let id = parameters.get("id").flatMap({ UUID(uuidString: $0) }) else {
                throw HTTPProblem(.pictureNotFound)
            }
            return id
        }
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
