public import MartletKit

/// A view of a definition, ready to be shown, with its model, its position and its contents.
public struct DefinitionNode: Sendable {
    /// The kind of a node that takes the place of a view that the app cannot show.
    public static let placeholderKind = "Placeholder"

    /// `LabelView`, or ``placeholderKind``.
    public let kind: String
    /// The views inside; for a `ListView`, its rows.
    public let contents: [DefinitionNode]
    /// What happens when the user taps on it. A row has the actions of its list.
    public let actions: [DefinitionAction]
    /// Whether the view around it places its contents in a row.
    public let isInRow: Bool
    let scope: DefinitionScope

    public var name: String? { scope.members["name"]?.stringValue }

    /// What the view shows: an element of a list, the model of a controller.
    public var model: JSON { scope.model }

    /// The form that the view belongs to.
    public var form: DefinitionForm? { scope.form }

    /// The name of the form's value that the view edits, if it is such a view.
    public var field: String? {
        DefinitionForm.inputKinds.contains(kind) ? scope.members["field"]?.stringValue : nil
    }

    /// A property of the view itself, with its binding, translation or logic resolved. Position, size and background
    /// are read like this.
    public func own(_ name: String) -> JSON? { scope.own(name) }

    /// A property of the view, or of the nearest object above it that has the property: the rows of a list have the
    /// list's text colour.
    public func argument(_ name: String) -> JSON? { scope.argument(name) }

    /// Empty if there is none.
    public func text(_ name: String) -> String { argument(name)?.shownText ?? "" }

    /// A finite number.
    public func number(_ name: String) -> Double? {
        argument(name)?.doubleValue.flatMap { $0.isFinite ? $0 : nil }
    }

    /// A length that the view itself has, within what toolkits can lay out; nil for others.
    func points(_ name: String, least: Double = -100_000) -> Double? { Self.points(own(name), least: least) }

    static func points(_ json: JSON?, least: Double = -100_000) -> Double? {
        json?.doubleValue.flatMap { (least...100_000).contains($0) ? $0 : nil }
    }

    /// `#rrggbb` or `#rrggbbaa`.
    public func color(_ name: String, own isOwn: Bool = false) -> RemoteColor? {
        (isOwn ? own(name) : argument(name))?.stringValue.flatMap(RemoteColor.init(hexadecimal:))
    }

    public var isHorizontal: Bool { own("orientation")?.stringValue == "horizontal" }

    /// The choices of a `Picker`: texts, or objects with `value` and `title`.
    public var options: [(value: JSON, title: String)] {
        (argument("options")?.arrayValue ?? []).prefix(DefinitionForm.maximumOptions).map { option in
            guard let value = option["value"] else { return (option, option.shownText) }
            return (value, option["title"]?.shownText ?? value.shownText)
        }
    }

    /// The place of a `MapView`: `place`, or `latitude` and `longitude`.
    public var place: GeoPoint? {
        let place = own("place")
        guard let latitude = (place?["latitude"] ?? own("latitude"))?.doubleValue,
            let longitude = (place?["longitude"] ?? own("longitude"))?.doubleValue,
            (-90...90).contains(latitude), (-180...180).contains(longitude)
        else { return nil }
        return GeoPoint(latitude: latitude, longitude: longitude)
    }
}

/// A controller with its view, ready to be shown.
public struct DefinitionScreen: Sendable {
    /// The controller's name.
    public let controller: String
    /// A `NavController` shows the screens that it opens as next pages; other controllers show them on top.
    public let kind: String
    public let title: String
    public let root: DefinitionNode
    /// The models that could not be loaded, and that were not on the device either. Their lists are empty.
    public let failures: [String: MartletError]

    /// All views, from the outside in.
    public var nodes: [DefinitionNode] {
        var nodes: [DefinitionNode] = []
        func add(_ node: DefinitionNode) {
            nodes.append(node)
            node.contents.forEach(add)
        }
        add(root)
        return nodes
    }
}

/// Something that a view does when the user taps on it.
public struct DefinitionAction: Sendable {
    /// `openController`, `showAlert`, `submit`, or one of the app's.
    public let name: String
    /// The kind of object that must handle the action; nil: the first one that can.
    public let kind: String?
    let members: [String: JSON]
    /// The object that sends it.
    let scope: DefinitionScope

    init?(_ json: JSON, from scope: DefinitionScope) {
        guard let members = json.objectValue, let name = members["action"]?.stringValue else { return nil }
        self.name = name
        kind = members["kind"]?.stringValue
        self.members = members
        self.scope = scope
    }

    /// The action's own value, or that of the nearest object above that has one.
    public func argument(_ name: String) -> JSON? { own(name) ?? scope.argument(name) }

    /// What the sender shows.
    public var model: JSON { scope.model }

    func own(_ name: String) -> JSON? { members[name].map { scope.values.resolve($0, model: scope.model) } }

    static func list(_ json: JSON?, from scope: DefinitionScope) -> [DefinitionAction] {
        (json?.arrayValue ?? []).prefix(100).compactMap { DefinitionAction($0, from: scope) }
    }
}

extension RemoteColor {
    /// Nil unless the text is `#rrggbb` or `#rrggbbaa`.
    init?(hexadecimal text: String) {
        let digits = text.utf8.dropFirst()
        guard text.utf8.first == UInt8(ascii: "#"), digits.count == 6 || digits.count == 8,
            digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let value = UInt32(text.dropFirst(), radix: 16)
        else { return nil }
        let whole = digits.count == 8 ? value : value << 8 | 255
        func part(_ shift: UInt32) -> Double { Double(whole >> shift & 255) / 255 }
        self.init(red: part(24), green: part(16), blue: part(8), alpha: part(0))
    }
}
