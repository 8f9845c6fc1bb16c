/// Names of the HTTP headers Martlet defines, in the lower case that HTTP/2 demands.
public enum HeaderName {
    /// An app's secret; opens the app's client routes together with the app key in the path.
    public static let secret = "x-martlet-secret"
    /// A master key; replaces the secret and opens the management routes.
    public static let masterKey = "x-martlet-master-key"
    /// The end user whom the app's own server asks for; with a master key only, whose rights are then the user's.
    public static let user = "x-martlet-user"
    /// `live` or `test`.
    public static let environment = "x-martlet-environment"
    /// Who is asking, signed by the gateway (`PrincipalSigner`). Internal: stripped from client requests.
    public static let principal = "x-martlet-principal"
    /// Who counts as one client: an IPv4 address, or the /64 of an IPv6 one. Internal: stripped from client requests.
    public static let address = "x-martlet-address"
    /// Opens a relay (32 hexadecimal digits), or says by which a stream's parts may come (`<id>.<number>`). Internal:
    /// stripped from client requests.
    public static let relay = "x-martlet-relay"
    /// With 304: the space (`<environment>:<app>`) and the generation for which it holds, whoever asks. Internal:
    /// stripped from answers.
    public static let generation = "x-martlet-generation"
    /// Where the next call for a user's data goes on; absent: this was the last. Internal.
    public static let next = "x-martlet-next"
    /// Opens the receipt of an account's deletion. Without `x-martlet-` in front, so that gateways let it pass.
    public static let receiptToken = "receipt-token"
    /// With every list of objects: the configuration that was published last, `"<version>";date="<RFC 3339>"` (RFC 9651
    /// §3.3). Without `x-martlet-` in front, so that gateways let it pass.
    public static let configVersion = "config-version"
    /// The same of translations.
    public static let translationVersion = "translation-version"
    /// With a configuration: which variations of experiments decided it, `checkout=dark`. Without `x-martlet-` for the
    /// same reason.
    public static let experiments = "experiments"
    /// Names the device that asks for a configuration or flags: what experiments count as one where nobody is signed
    /// in.
    public static let deviceID = "x-device-id"
    /// Names one request in logs and errors. The gateway keeps a client's own when it is well-formed.
    public static let requestID = "x-request-id"
}
