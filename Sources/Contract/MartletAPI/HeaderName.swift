/// Names of the HTTP headers that Martlet defines, in lower case as HTTP/2 requires.
public enum HeaderName {
    /// An app's secret. Together with the app key in the path it gives access to the app's client routes.
    public static let secret = "x-martlet-secret"
    /// A master key. Replaces the secret and gives access to the management routes.
    public static let masterKey = "x-martlet-master-key"
    /// The end user on whose behalf the app's own server acts. Only with a master key; the request then has the user's
    /// rights.
    public static let user = "x-martlet-user"
    /// `live` or `test`.
    public static let environment = "x-martlet-environment"
    /// The authenticated caller, signed by the gateway (`PrincipalSigner`). Internal: stripped from client requests.
    public static let principal = "x-martlet-principal"
    /// The network address that identifies one client: an IPv4 address, or the /64 of an IPv6 address. Internal:
    /// stripped from client requests.
    public static let address = "x-martlet-address"
    /// Opens a relay (32 hexadecimal digits), or names the relay and stream number by which parts of a stream may
    /// arrive (`<id>.<number>`). Internal: stripped from client requests.
    public static let relay = "x-martlet-relay"
    /// With 304: the space (`<environment>:<app>`) and the generation for which the answer is valid, for every caller.
    /// Internal: stripped from answers.
    public static let generation = "x-martlet-generation"
    /// How long the service waited before it answered, in microseconds, for what does not depend on its load, such as
    /// an app's hooks. Internal: stripped from answers.
    public static let waited = "x-martlet-waited"
    /// Where the next call for a user's data continues; absent after the last call. Internal.
    public static let next = "x-martlet-next"
    /// The version of the process that answers a health check. Internal.
    public static let version = "x-martlet-version"
    /// Grants access to the receipt of an account's deletion. It lacks the prefix `x-martlet-`, so gateways let it
    /// pass.
    public static let receiptToken = "receipt-token"
    /// Sent by a dashboard in a browser: staff tokens come and go as cookies. No other site can add it. It lacks the
    /// prefix `x-martlet-`, so gateways let it pass.
    public static let dashboard = "martlet-dashboard"
    /// With every list of objects: the most recently published configuration, `"<version>";date="<RFC 3339>"` (RFC 9651
    /// §3.3). It lacks the prefix `x-martlet-`, so gateways let it pass.
    public static let configVersion = "config-version"
    /// The most recently published translations, in the same form.
    public static let translationVersion = "translation-version"
    /// With a configuration: the experiment variations that determined it, `checkout=dark`. It lacks the prefix
    /// `x-martlet-` for the same reason.
    public static let experiments = "experiments"
    /// Identifies the device that requests a configuration or flags. Experiments use it as the unit when no user is
    /// signed in.
    public static let deviceID = "x-device-id"
    /// Identifies one request in logs and errors. The gateway keeps a client's own value if it is well-formed.
    public static let requestID = "x-request-id"
}
