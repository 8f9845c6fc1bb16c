public import Foundation

/// The server's values for an element of a screen.
public struct ElementProperties: Sendable {
    public let values: [String: JSON]
    private let colorNamed: @Sendable (String) -> RemoteColor?

    init(values: [String: JSON], color: @escaping @Sendable (String) -> RemoteColor?) {
        // An empty text means that the property is not set.
        self.values = values.filter { $0.value != .null && $0.value != .string("") }
        colorNamed = color
    }

    public subscript(name: String) -> JSON? { values[name] }

    public var isEmpty: Bool { values.isEmpty }

    public func text(_ name: String) -> String? { values[name]?.stringValue }

    /// Also reads the text `"14"`, which the original dashboard wrote.
    public func number(_ name: String) -> Double? {
        values[name]?.doubleValue ?? text(name).flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil }
    }

    public func integer(_ name: String) -> Int? { values[name]?.intValue ?? text(name).flatMap { Int($0) } }

    /// Also reads the text `"0"`, which the original dashboard wrote for false.
    public func flag(_ name: String) -> Bool? {
        if let value = values[name]?.boolValue { return value }
        switch text(name) ?? values[name]?.numberValue?.text {
        case "1", "true": return true
        case "0", "false": return false
        default: return nil
        }
    }

    public func texts(_ name: String) -> [String]? { values[name]?.arrayValue?.compactMap(\.stringValue) }

    /// The colour that the property's value names.
    public func color(_ name: String) -> RemoteColor? { text(name).flatMap { colorNamed($0) } }

    public func url(_ name: String) -> URL? { text(name).flatMap { URL(string: $0) } }

    public func date(_ name: String) -> Date? { values[name]?.dateValue }
}
