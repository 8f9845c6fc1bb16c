import Foundation

extension Martlet {
    /// The app's texts in the user's language.
    public var translations: Translations { parts.translations }
}

/// The app's texts in the user's language, which the server can change.
///
/// Reading never waits. It uses the last texts received, even without a network, or the app's `Martlet.json` before the
/// first ones. If a key has no text, the key itself is shown.
///
/// ```swift
/// try await martlet.translations.refresh()
/// martlet.translations.text("greeting", "Ann")        // Hallo Ann
/// martlet.translations.text("dogs", 3)                // 3 Hunde
/// martlet.translations.text("dogs", .integer(count))
/// ```
public final class Translations: Sendable {
    private struct State {
        var language: String
        var table: TextTable?
        var entityTag: String?
    }

    private let api: APIClient
    private let events: DocumentEvents
    private let folder: LocalFolder
    private let bundled: [String: TextTable]
    private let state: Locked<State>
    private let observers = Observers<String>()

    init(_ api: APIClient, _ events: DocumentEvents, _ folder: LocalFolder, _ defaults: BundledDefaults) {
        self.api = api
        self.events = events
        self.folder = folder
        bundled = (defaults.translations?.objectValue ?? [:]).compactMapValues { TextTable($0) }
        let chosen = folder.readJSON(Self.choiceFile)?["language"]?.stringValue
        var state = State(language: chosen ?? api.configuration.device.language)
        Self.load(&state, from: folder, for: api.configuration.device.appVersion)
        self.state = Locked(state)
    }

    /// The requested language: the device's, unless the app has chosen another one.
    public var language: String { state.withLock { $0.language } }

    /// The text for a key, with these values and in the right plural form; the key itself if there is no text.
    public func text(_ key: String, _ arguments: TextArgument...) -> String { text(key, arguments: arguments) }

    public func text(_ key: String, arguments: [TextArgument]) -> String {
        let (language, table) = state.withLock { ($0.language, $0.table) }
        if let text = table?.text(key, arguments) { return text }
        for tag in Self.parents(of: language) + [baseLanguage] {
            if let text = bundled[tag]?.text(key, arguments) { return text }
        }
        return key
    }

    /// The language of texts that are not translated: the source language of the app's own texts.
    public var baseLanguage: String {
        // `developmentLocalization` traps on Linux.
        Bundle.main.infoDictionary?["CFBundleDevelopmentRegion"] as? String ?? "en"
    }

    /// Uses another language than the device's from now on; nil: the device's again.
    ///
    /// - Throws: ``MartletError``. The choice is kept, and texts that were loaded before are used.
    public func choose(language: String?) async throws {
        try folder.write(JSON.object(["language": language.map(JSON.string) ?? .null]).data, to: Self.choiceFile)
        state.withLock { state in
            state.language = language ?? api.configuration.device.language
            state.table = nil
            state.entityTag = nil
            Self.load(&state, from: folder, for: api.configuration.device.appVersion)
        }
        try await refresh()
    }

    /// Loads the texts if they have changed on the server.
    ///
    /// If the language is not published, its parents and then the base language are requested.
    ///
    /// - Returns: Whether the texts have changed.
    /// - Throws: ``MartletError``. The present texts are kept.
    @discardableResult
    public func refresh() async throws -> Bool {
        let (language, tag) = state.withLock { ($0.language, $0.entityTag) }
        let version = APIRequest.escape(api.configuration.device.appVersion)
        for candidate in Self.parents(of: language) + [baseLanguage] {
            var request = APIRequest("GET", "translation/\(APIRequest.escape(candidate))/\(version)")
            request.caller = .app
            request.headers["if-none-match"] = tag
            do {
                let response = try await events.send(request)
                return response.status == 304 ? false : try keep(response, for: language)
            } catch let error as MartletError where error.status == 404 {
                continue
            }
        }
        return false
    }

    /// The language of the texts, now and whenever they change. While it is iterated, the client learns of published
    /// texts within a second or so.
    public func updates() -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream<String>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let following = Task { [self] in
            for await _ in await events.publications(where: { $0.concerns("translation") }) { await refreshQuietly() }
        }
        state.withLock { state in
            observers.add(continuation) { following.cancel() }
            continuation.yield(state.table?.language ?? state.language)
        }
        return stream
    }

    func refreshQuietly() async {
        do {
            try await refresh()
        } catch {
            api.configuration.log(.info, "Could not refresh the texts", ["error": "\(error)"])
        }
    }

    private func keep(_ response: HTTPResponse, for language: String) throws -> Bool {
        let json = try JSON(parsing: response.body)
        guard let table = TextTable(json) else {
            throw MartletError(.unexpectedAnswer, "The answer has no texts.")
        }
        let tag = response.headers["etag"]
        let kept: JSON = [
            "etag": tag.map(JSON.string) ?? .null, "answer": json,
            "appVersion": .string(api.configuration.device.appVersion),
        ]
        try? folder.write(kept.data, to: Self.file(of: language))
        return state.withLock { state in
            guard state.language == language else { return false }
            state.table = table
            state.entityTag = tag
            observers.yield(table.language)
            return true
        }
    }

    private static func load(_ state: inout State, from folder: LocalFolder, for appVersion: String) {
        guard let kept = folder.readJSON(file(of: state.language)), let answer = kept["answer"],
            kept["appVersion"]?.stringValue == appVersion
        else { return }
        state.table = TextTable(answer)
        state.entityTag = state.table == nil ? nil : kept["etag"]?.stringValue
    }

    /// The language, then those that its readers can also read: `de` for `de-AT`, but not `zh` for
    /// `zh-Hant`.
    private static func parents(of language: String) -> [String] {
        let parts = language.split(separator: "-")
        let script = parts.dropFirst().firstIndex { $0.count == 4 && $0.allSatisfy(\.isLetter) }
        let shortest = (script ?? 0) + 1
        return (0..<parts.count).map { parts.dropLast($0) }.filter { $0.count >= shortest }
            .map { $0.joined(separator: "-") }
    }

    private static let choiceFile = "choice.json"

    private static func file(of language: String) -> String { "language-" + APIRequest.escape(language) + ".json" }
}
