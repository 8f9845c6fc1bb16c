import Foundation

extension Martlet {
    /// Settings, colours and styles that the server can change.
    public var remote: RemoteConfiguration { parts.remote }
}

/// Settings, colours and styles that can be changed on the server without a new build.
///
/// Reading never waits. It uses the last configuration received, even without a network, or the app's
/// `Martlet.json` before the first one. Call ``refresh()`` to load a newer one.
///
/// ```swift
/// label.textColor = UIColor(martlet.remote.color("navColor") ?? .black)
/// let url = martlet.remote.setting("url", default: "https://example.org")
/// try await martlet.remote.refresh()
/// ```
public final class RemoteConfiguration: Sendable {
    private struct State {
        var active: ConfigurationSnapshot
        /// The last answer received. It becomes `active` by ``RemoteConfiguration/activate()``.
        var newest: Answer
        var theme: String?
        var attributes: [String: JSON] = [:]
    }

    private struct Answer {
        var snapshot: ConfigurationSnapshot
        var entityTag: String?
    }

    private let api: APIClient
    private let identity: InstallationIdentity
    private let events: DocumentEvents
    private let folder: LocalFolder
    private let defaults: ConfigurationSnapshot
    private let state: Locked<State>
    private let observers = Observers<ConfigurationSnapshot>()

    init(
        _ api: APIClient, _ identity: InstallationIdentity, _ events: DocumentEvents, _ folder: LocalFolder,
        _ bundled: BundledDefaults
    ) {
        self.api = api
        self.identity = identity
        self.events = events
        self.folder = folder
        defaults = ConfigurationSnapshot(bundled.remote ?? [:])
        let theme = folder.readJSON(Self.choiceFile)?["theme"]?.stringValue
        let stored = Self.stored(theme: theme, in: folder, for: api.configuration.device.appVersion)
        let answer = stored ?? Answer(snapshot: defaults)
        state = Locked(State(active: answer.snapshot, newest: answer, theme: theme))
    }

    // MARK: Reading

    /// The configuration in effect.
    public var current: ConfigurationSnapshot { state.withLock { $0.active } }

    /// The setting, or else its default in the app's `Martlet.json`; nil if there is neither.
    public func setting(_ name: String) -> JSON? { current.settings[name] ?? defaults.settings[name] }

    /// The setting as a value of this type; the default if there is none or it does not fit.
    public func setting<Value: Decodable & Sendable>(_ name: String, default defaultValue: Value) -> Value {
        self[Parameter(name, default: defaultValue)]
    }

    public subscript<Value>(parameter: Parameter<Value>) -> Value { parameter.value(of: setting(parameter.name)) }

    /// The colour with this name, or else the one in the app's `Martlet.json`; nil if there is neither.
    public func color(_ name: String) -> RemoteColor? { current.colors[name] ?? defaults.colors[name] }

    /// The properties of an element of a screen, with its colours resolved. Empty if the configuration has none.
    ///
    /// - Parameter controller: The name of the screen, in UIKit that of the view controller's class.
    public func properties(of element: String, in controller: String) -> ElementProperties {
        let live = current.properties(of: element, in: controller)
        let own = defaults.properties(of: element, in: controller)
        return ElementProperties(values: own.merging(live) { $1 }, color: { [self] in color($0) })
    }

    /// The properties of a screen itself.
    public func properties(ofController controller: String) -> ElementProperties {
        let live = current.properties(ofController: controller)
        let own = defaults.properties(ofController: controller)
        return ElementProperties(values: own.merging(live) { $1 }, color: { [self] in color($0) })
    }

    // MARK: Themes and conditions

    /// The theme that the user chose; nil leaves the choice to the server.
    public var theme: String? { state.withLock { $0.theme } }

    /// Remembers the user's choice and puts the theme into effect: at once if it was loaded before, and again when the
    /// server has answered.
    ///
    /// - Throws: ``MartletError``. The choice is kept, and a theme that was loaded before stays in effect.
    public func choose(theme: String?) async throws {
        try folder.write(JSON.object(["theme": theme.map(JSON.string) ?? .null]).data, to: Self.choiceFile)
        let stored = Self.stored(theme: theme, in: folder, for: api.configuration.device.appVersion)
        state.withLock { state in
            state.theme = theme
            // With another theme's entity tag, the server could answer 304.
            state.newest = stored ?? Answer(snapshot: state.newest.snapshot)
        }
        if stored != nil { activate() }
        try await refresh()
    }

    /// Attributes of the user for conditions on the server, in addition to those of the device: a plan, a brand. At
    /// most 100.
    public var attributes: [String: JSON] {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }

    // MARK: Changing

    /// Loads the configuration and puts it into effect.
    ///
    /// - Returns: Whether anything that the app shows has changed.
    /// - Throws: ``MartletError``. The previous configuration stays in effect.
    @discardableResult
    public func refresh() async throws -> Bool {
        try await fetch()
        return activate()
    }

    /// Loads the configuration and keeps it on disk. It takes effect at the next ``activate()`` or start of the app.
    ///
    /// - Returns: Whether it differs from the one in effect.
    @discardableResult
    public func fetch() async throws -> Bool {
        let (theme, tag, attributes) = state.withLock { ($0.theme, $0.newest.entityTag, $0.attributes) }
        var request = APIRequest("POST", "remote", json: body(theme, attributes), repetition: .idempotent)
        request.headers[MartletHeader.deviceID] = identity.id
        request.headers["if-none-match"] = tag
        do {
            let response = try await events.send(request)
            if response.status != 304 { try keep(response, theme: theme) }
        } catch let error as MartletError where error.code == .documentNotFound {
            // Nothing is published for this app version: the app shows what it was built with.
            state.withLock { state in
                if state.theme == theme { state.newest = Answer(snapshot: defaults) }
            }
            folder.remove(Self.file(of: theme))
        }
        return state.withLock { $0.newest.snapshot != $0.active }
    }

    /// Puts the configuration that ``fetch()`` loaded into effect, and notifies observers if it differs.
    @discardableResult
    public func activate() -> Bool {
        state.withLock { state in
            guard state.active != state.newest.snapshot else { return false }
            state.active = state.newest.snapshot
            observers.yield(state.active)
            return true
        }
    }

    /// The configuration in effect, then each one that follows.
    ///
    /// As long as the sequence is iterated, the client is connected to the server, learns of publications within a
    /// second or so, and puts them into effect. A lost connection is opened again.
    public func updates() -> AsyncStream<ConfigurationSnapshot> {
        let (stream, continuation) = AsyncStream<ConfigurationSnapshot>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let following = Task { [self] in
            for await _ in await events.publications(where: { $0.concerns("configuration", "experiment") }) {
                await refreshQuietly()
            }
        }
        state.withLock { state in
            observers.add(continuation) { following.cancel() }
            continuation.yield(state.active)
        }
        return stream
    }

    /// Like ``refresh()``, for timers and background tasks: a failure is logged.
    func refreshQuietly() async {
        do {
            try await refresh()
        } catch {
            api.configuration.log(.info, "Could not refresh the configuration", ["error": "\(error)"])
        }
    }

    // MARK: Requests and storage

    private func body(_ theme: String?, _ attributes: [String: JSON]) -> JSON {
        let device = api.configuration.device
        var body: JSON = [
            "appVersion": .string(device.appVersion), "language": .string(device.language),
            "platform": .string(device.platform), "osVersion": .string(device.systemVersion),
        ]
        body["theme"] = theme.map(JSON.string)
        body["build"] = device.build.map(JSON.string)
        body["country"] = device.country.map(JSON.string)
        if !attributes.isEmpty { body["attributes"] = .object(attributes) }
        return body
    }

    private func keep(_ response: HTTPResponse, theme: String?) throws {
        let json = try JSON(parsing: response.body)
        guard json.objectValue != nil else {
            throw MartletError(.unexpectedAnswer, "The configuration is not a JSON object.")
        }
        let answer = Answer(snapshot: ConfigurationSnapshot(json), entityTag: response.headers["etag"])
        let kept: JSON = [
            "etag": answer.entityTag.map(JSON.string) ?? .null, "answer": json,
            "appVersion": .string(api.configuration.device.appVersion),
        ]
        // A full disk must not prevent the app from showing what it has received.
        try? folder.write(kept.data, to: Self.file(of: theme))
        state.withLock { state in
            // The user may have chosen another theme meanwhile.
            if state.theme == theme { state.newest = answer }
        }
    }

    /// The answer stored for this theme, unless it was for another app version.
    private static func stored(theme: String?, in folder: LocalFolder, for appVersion: String) -> Answer? {
        guard let kept = folder.readJSON(file(of: theme)), let answer = kept["answer"],
            kept["appVersion"]?.stringValue == appVersion
        else { return nil }
        return Answer(snapshot: ConfigurationSnapshot(answer), entityTag: kept["etag"]?.stringValue)
    }

    private static let choiceFile = "choice.json"

    private static func file(of theme: String?) -> String {
        theme.map { "theme-" + APIRequest.escape($0) + ".json" } ?? "default.json"
    }
}
