/// A public key that the app trusts to sign definitions: `x` of a key of `GET definitions/keys`, 32 bytes in base64url.
///
/// ```swift
/// configuration.definitionKeys = ["11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"]
/// ```
///
/// A text that is not a valid key verifies nothing.
public struct DefinitionKey: Sendable, Hashable, ExpressibleByStringLiteral {
    public let x: String

    public init(x: String) { self.x = x }

    public init(stringLiteral value: String) { x = value }
}
