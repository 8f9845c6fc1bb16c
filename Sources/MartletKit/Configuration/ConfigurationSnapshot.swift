import Foundation

/// A configuration as the server returned it. It never changes, so everything read from it is consistent.
public struct ConfigurationSnapshot: Sendable, Hashable {
    /// The configuration's own version, `2.4.2.2`.
    public let version: String
    /// The app version that the configuration was made for.
    public let appVersion: String
    public let theme: String?
    /// All themes that the user can choose.
    public let themes: [String]
    /// BCP 47 tags.
    public let languages: [String]
    public let settings: [String: JSON]
    public let colors: [String: RemoteColor]
    /// The variations that this configuration depends on, by experiment.
    public let experiments: [String: String]
    /// A hash of the visible parts.
    let hash: String?
    let controllers: [String: Controller]

    struct Controller: Sendable, Hashable {
        let parent: String?
        let properties: [String: JSON]
        let elements: [String: [String: JSON]]
    }

    /// Parts that are missing or of another type are empty, because the app must be able to start with any answer.
    init(_ json: JSON) {
        version = json["version"]?.stringValue ?? ""
        appVersion = json["appVersion"]?.stringValue ?? ""
        theme = json["theme"]?.stringValue
        themes = (json["themes"]?.arrayValue ?? []).compactMap(\.stringValue)
        languages = (json["languagesList"]?.arrayValue ?? []).compactMap(\.stringValue)
        settings = json["mainSettings"]?.objectValue ?? [:]
        hash = json["hash"]?.stringValue
        experiments = (json["experiments"]?.objectValue ?? [:]).compactMapValues(\.stringValue)
        colors = Self.byName(json["colors"], "name", RemoteColor.init)
        controllers = Self.byName(json["controllers"], "name") { controller in
            let parent = controller["parent"]?.stringValue
            return Controller(
                parent: parent == "0" ? nil : parent, properties: controller["classProperties"]?.objectValue ?? [:],
                elements: Self.byName(controller["objectsList"], "objectName") {
                    $0["objectProperties"]?.objectValue ?? [:]
                })
        }
    }

    private static func byName<Value>(_ list: JSON?, _ name: String, _ make: (JSON) -> Value?) -> [String: Value] {
        var values: [String: Value] = [:]
        for item in list?.arrayValue ?? [] {
            guard let key = item[name]?.stringValue, let value = make(item) else { continue }
            values[key] = value
        }
        return values
    }

    /// The properties of an element of a controller. Properties that the controller does not set come from its parents.
    func properties(of element: String, in controller: String) -> [String: JSON] {
        inherited(from: controller) { $0.elements[element] ?? [:] }
    }

    /// The properties of a controller itself, including those of its parents.
    func properties(ofController controller: String) -> [String: JSON] { inherited(from: controller, \.properties) }

    private func inherited(from name: String, _ part: (Controller) -> [String: JSON]) -> [String: JSON] {
        var properties: [String: JSON] = [:]
        var seen: Set<String> = []
        var next: String? = name
        while let name = next, seen.insert(name).inserted, let controller = controllers[name] {
            properties.merge(part(controller)) { own, _ in own }
            next = controller.parent
        }
        return properties
    }
}

/// A named colour in a configuration.
public struct RemoteColor: Sendable, Hashable {
    /// From 0 to 1.
    public let red, green, blue, alpha: Double

    public init(red: Double, green: Double, blue: Double, alpha: Double = 1) {
        func limited(_ part: Double) -> Double { part.isFinite ? max(0, min(1, part)) : 0 }
        self.red = limited(red)
        self.green = limited(green)
        self.blue = limited(blue)
        self.alpha = limited(alpha)
    }

    /// The server writes 0 to 255, and 0 to 1 for `alpha`.
    init?(_ json: JSON) {
        guard let red = json["red"]?.doubleValue, let green = json["green"]?.doubleValue,
            let blue = json["blue"]?.doubleValue
        else { return nil }
        self.init(red: red / 255, green: green / 255, blue: blue / 255, alpha: json["alpha"]?.doubleValue ?? 1)
    }

    /// `#78000080`, as CSS writes it; without the last two digits if the colour is opaque.
    public var hexadecimal: String {
        let parts = [red, green, blue] + (alpha < 1 ? [alpha] : [])
        return "#"
            + parts.map { part in
                let text = String(Int((part * 255).rounded()), radix: 16)
                return text.utf8.count == 1 ? "0" + text : text
            }.joined()
    }
}
