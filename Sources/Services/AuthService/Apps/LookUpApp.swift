import Foundation
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The changes of `apply` are made in one transaction.
struct LookUpApp: Endpoint {
    static let route = Route(
        .post, "/admin/apps/{app}/lookup", "lookUpApp",
        "Looks the app up in the store's public records.",
        callers: .staffOfApp(.update, .applications),
        parameters: [
            .path("app", .string, "The app's id."),
            .query("storeId", .string, "The id to look for instead of the app's own."),
            .query("bundleId", .string, "The id to look for instead of the app's own."),
            .query("country", .string.defaulting(to: "us")),
            .query("language", .string.defaulting(to: "en"), "The language under which the notes are stored (BCP 47)."),
            .query("apply", .boolean.defaulting(to: false)),
        ],
        details: """
            The record is looked up by the id in the query, or else by the app's own id. With `apply`, the name, \
            store id, bundle id, icon, and version with its notes are copied to the app; `applied` lists what was \
            copied.
            """,
        answers: [
            .answer(
                200, "The store's record, if there is one.",
                .json(
                    .object(
                        [
                            "found": .boolean,
                            "record": .object.nullable,
                            "applied": .array(of: .oneOf("name", "storeId", "bundleId", "icon", "version")),
                        ], required: ["found", "record", "applied"])))
        ],
        errors: [
            404: "The server has no such app (`app-not-found`).",
            409: "The app is archived, or has neither a store id nor a bundle id to look for (`conflict`).",
            502: "The store could not be reached, or its answer is invalid (`upstream-failed`).",
            504: "The store did not answer in time (`upstream-timeout`).",
        ])

    let apps: AppStore
    let lookup: StoreLookup

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (id, author) = try context.changeableApp(request)
        let applies = try request.flag("apply")
        let country = try request.country()
        let language = try request.language()
        guard let text = try await apps.read(id) else { throw ServiceError(.appNotFound) }
        let key = try request.lookupKey() ?? Self.key(of: try JSONValue(parsing: text.utf8))
        guard let key else {
            throw ServiceError(
                .conflict,
                "The app has neither a store id nor a bundle id; set one, or send storeId or bundleId.")
        }
        guard let record = try await lookup.record(key, country: country) else {
            return .json(#"{"applied":[],"found":false,"record":null}"#)
        }
        var applied: [String] = []
        if applies {
            var icon: Picture?
            do {
                if let url = record.iconURL { icon = try await lookup.icon(at: url) }
            } catch let problem as ServiceError {
                // The other properties are useful without the icon. The answer's `applied` does not list the icon.
                context.logger.warning(
                    "Could not fetch an app's icon from the store; the app is updated without it.",
                    metadata: ["app.id": "\(id)", "error.cause": "\(problem.cause ?? problem.detail ?? "")"])
            }
            applied = try await apps.apply(record, icon: icon, language: language, to: id, by: author)
        }
        let names = JSONValue.array(applied.map { .string($0) }).text
        return .json(#"{"applied":\#(names),"found":true,"record":\#(record.json.text)}"#)
    }

    private static func key(of app: JSONValue) -> StoreLookup.Key? {
        if case .string(let id) = app["storeId"] { return .storeID(id) }
        if case .string(let id) = app["bundleIds"]?["0"] { return .bundleID(id) }
        return nil
    }
}

extension Request {
    fileprivate func country() throws -> String {
        let text = String(uri.queryParameters["country"] ?? "us").lowercased()
        guard text.wholeMatch(of: /[a-z]{2}/) != nil else {
            throw ServiceError.unexpectedParameter(
                "country", expected: "the two letters of a country, such as us", found: text[...])
        }
        return text
    }

    fileprivate func language() throws -> LanguageTag {
        let text = uri.queryParameters["language"] ?? "en"
        guard let language = LanguageTag(String(text)) else {
            throw ServiceError.unexpectedParameter(
                "language", expected: "a language such as en or pt-BR (BCP 47)", found: text)
        }
        return language
    }

    fileprivate func lookupKey() throws -> StoreLookup.Key? {
        if let id = uri.queryParameters["storeId"].map(String.init) {
            guard AppChange.isStoreID(id) else {
                throw ServiceError.unexpectedParameter("storeId", expected: "1 to 20 digits", found: id[...])
            }
            return .storeID(id)
        }
        guard let id = uri.queryParameters["bundleId"].map(String.init) else { return nil }
        guard AppChange.isBundleID(id) else {
            throw ServiceError.unexpectedParameter(
                "bundleId", expected: "a bundle id such as com.example.app", found: id[...])
        }
        return .bundleID(id)
    }
}

extension AppStore {
    /// Copies a store's record into the app, atomically.
    ///
    /// - Returns: The names of the properties that were copied.
    /// - Throws: The errors of `change`.
    fileprivate func apply(
        _ record: StoreRecord, icon: Picture?, language: LanguageTag, to id: String, by author: AppAuthor
    ) async throws -> [String] {
        try await postgres.withTransaction { transaction in
            let app = try JSONValue(parsing: try await Self.lock(id, transaction).utf8)
            var applied: [String] = []
            var change = AppChange(name: record.name)
            if record.name != nil { applied.append("name") }
            if let storeID = record.storeID {
                change.storeID = storeID
                applied.append("storeId")
            }
            if let bundleID = record.bundleID, case .array(let listed) = app["bundleIds"] {
                let ids: [String] = listed.compactMap { if case .string(let id) = $0 { id } else { nil } }
                if ids.contains(bundleID) || ids.count < AppChange.maximumBundleIDs {
                    change.bundleIDs = ids.contains(bundleID) ? ids : ids + [bundleID]
                    applied.append("bundleId")
                }
            }
            _ = try await Self.change(id, change, by: author, transaction)
            if let icon {
                try await PictureStore.setIcon(icon, of: id, by: author, transaction)
                applied.append("icon")
            }
            if let number = record.version {
                try await VersionStore.release(
                    number, notes: record.notes, in: language, on: record.releaseDate, of: id, by: author, transaction)
                applied.append("version")
            }
            return applied
        }
    }
}

extension VersionStore {
    /// Creates the version if it is new, and marks it as released. Notes in other languages are kept.
    ///
    /// Runs in a transaction that holds the lock of the app.
    fileprivate static func release(
        _ number: VersionNumber, notes: String?, in language: LanguageTag, on date: String?, of appID: String,
        by author: AppAuthor,
        _ transaction: PostgresTransaction
    ) async throws {
        var change = VersionChange(state: .released)
        if let date { change.releaseDate = date }
        let existing = try await read(number, of: appID, transaction)
        if let notes {
            var members: [JSONValue.Member] = []
            if let existing, case .object(let others) = try JSONValue(parsing: existing.utf8)["notes"] {
                members = others.filter { $0.name != language.text }
            }
            change.notes = JSONValue.object(members + [.init(language.text, .string(notes))]).text
        }
        if existing == nil {
            try await create(number, change, of: appID, by: author, transaction)
        } else {
            try await self.change(number, change, of: appID, by: author, transaction)
        }
    }
}
