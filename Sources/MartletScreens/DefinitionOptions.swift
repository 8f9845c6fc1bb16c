public import Foundation
public import MartletKit

/// How an app uses a definition of the server.
public struct DefinitionOptions: Sendable {
    /// What the app adds to the built-in kinds.
    public var components = DefinitionComponents()
    /// Downloads everything at each refresh, whatever the device has. On in debug builds, off in release builds.
    public var alwaysRefreshes = Self.isDebugBuild
    /// Downloads only what the first screen needs, and the parts of another controller when it is opened. By default
    /// everything is downloaded at once, so that every screen works without a connection.
    public var loadsOnDemand = false
    /// The definition as it was when the app was built, for a first start without a connection: a folder in the app
    /// with `manifest.json` as the server returns it, and each part as `<sha256>.json`. It is checked like one from the
    /// server, except that it does not expire, and comes into effect if the device has seen no later version.
    public var bundle: URL?
    /// The token of a preview: the draft is shown instead of the published version.
    public var preview: String?
    /// For dates and numbers; nil: the language of the texts.
    public var locale: Locale?
    public var timeZone = TimeZone.current

    public init() {}

    private static var isDebugBuild: Bool {
        #if DEBUG
        true
        #else
        false
        #endif
    }
}

/// The kinds, operations and actions that the app adds to the built-in ones, with their versions.
///
/// ```swift
/// var components = DefinitionComponents()
/// components.addView("RoundImageView")
/// components.addOperation("shout") { .string(($0.first?.stringValue ?? "").uppercased()) }
/// components.addAction("call") { action in await dial(action.argument("number")?.stringValue) }
/// ```
///
/// The client sends them to the server, which answers with a version of the definition that needs no others.
public struct DefinitionComponents: Sendable {
    public typealias Operation = @Sendable ([JSON]) -> JSON
    public typealias ActionHandler = @Sendable (DefinitionAction) async throws -> Void

    struct Action: Sendable {
        /// The kind of object that handles the action; nil: the app, if no other object does.
        let kind: String?
        let handler: ActionHandler
    }

    static let builtInViews: Set<String> = [
        "View", "ListView", "LabelView", "ButtonView", "ImageView", "TextField", "Toggle", "Picker", "DatePicker",
        "Form",
        "MapView",
    ]
    static let builtInControllers: Set<String> = ["ViewController", "NavController", "SystemController"]
    /// The server allows 200 in all.
    private static let maximumCount = 150

    private(set) var views = builtInViews
    private(set) var controllers = builtInControllers
    private(set) var operations: [String: Operation] = [:]
    private(set) var actions: [String: Action] = [:]
    private(set) var versions = Dictionary(
        uniqueKeysWithValues: builtInViews.union(builtInControllers).map { ($0, 1) })

    public init() {}

    /// A kind of view that the renderer shows.
    public mutating func addView(_ kind: String, version: Int = 1) {
        if note(kind, version) { views.insert(kind) }
    }

    /// A kind of controller. It shows its view as `ViewController` does.
    public mutating func addController(_ kind: String, version: Int = 1) {
        if note(kind, version) { controllers.insert(kind) }
    }

    /// An operation of JsonLogic. It must depend only on its arguments.
    public mutating func addOperation(_ name: String, version: Int = 1, _ body: @escaping Operation) {
        if note(name, version) { operations[name] = body }
    }

    /// An action.
    ///
    /// - Parameter kind: The kind of view or controller that handles it. The search goes from the view that sends the
    ///   action up to its controller and those that opened it. Nil: the app handles it.
    public mutating func addAction(
        _ name: String, version: Int = 1, answeredBy kind: String? = nil, _ handler: @escaping ActionHandler
    ) {
        if note(name, version) { actions[name] = Action(kind: kind, handler: handler) }
    }

    /// Returns false for a name that the server does not accept. No definition can contain such a name.
    private mutating func note(_ name: String, _ version: Int) -> Bool {
        let isName =
            (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { "._-".utf8.contains($0) || Character(Unicode.Scalar($0)).isASCIIAlphanumeric }
        guard isName, version > 0, versions.count < Self.maximumCount else {
            assertionFailure("A component needs a name of letters and digits and a version above 0: \(name)")
            return false
        }
        versions[name] = version
        return true
    }

    func supports(_ requirements: [String: Int]) -> Bool { missing(requirements).isEmpty }

    func missing(_ requirements: [String: Int]) -> [String] {
        requirements.filter { (versions[$0.key] ?? 0) < $0.value }.keys.sorted()
    }

    /// As the server reads them: `MapView:1,RoundImageView:1`
    var capabilities: String {
        versions.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: ",")
    }
}

extension Character {
    var isASCIIAlphanumeric: Bool { isASCII && (isLetter || isNumber) }
}
