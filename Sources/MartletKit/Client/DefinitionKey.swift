/// A public key that the app trusts to sign definitions: 32 bytes in base64url. It is the `x` of a key in the answer to
/// `GET definitions/keys`.
///
/// ```swift
/// configuration.definitionKeys = ["11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"]
/// ```
///
/// A text that is not a valid key is accepted here, but no signature is valid for it.
public struct DefinitionKey: Sendable, Hashable, ExpressibleByStringLiteral {
    public let x: String

    public init(x: String) { self.x = x }

    public init(stringLiteral value: String) { x = value }
}
