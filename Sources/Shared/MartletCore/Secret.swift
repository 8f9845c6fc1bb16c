import Foundation

/// A value that must not appear in logs, errors or dumps. All its textual forms are `<redacted>`.
public struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let value: String

    public init(_ value: String) {
        self.value = value
    }

    /// Calls `body` with the value itself.
    public func withValue<Result>(_ body: (String) throws -> Result) rethrows -> Result {
        try body(value)
    }

    public var isEmpty: Bool { value.isEmpty }
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// 256 random bits as 43 characters of base64url.
    public static func random() -> Secret {
        var generator = SystemRandomNumberGenerator()
        return Secret(Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }))
    }
}
