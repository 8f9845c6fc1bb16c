public import Foundation

/// What a credential gives access to.
public enum CredentialKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// An app key: identifies the app and its environment in the path; useless without a secret.
    case client
    /// The secret sent in `X-Martlet-Secret`; any live secret of an app works with any of its live app keys.
    case secret
    /// Write-only access to events and crashes, for protocols whose clients cannot set headers.
    case ingest
    /// Read-only access to feature flags, for the same protocols.
    case evaluation
    /// Server-to-server calls from allowed networks; replaces a secret and gives access to management.
    case master
}

/// Every app with its live credentials, as sent by `auth` to gateways.
///
/// Wire shape of `GET /internal/keyring`. Contains only SHA-256 digests, so a leaked copy grants no access.
public struct KeyRing: Codable, Sendable, Equatable {
    /// Increases with every change of an app, a credential, a signing key or a staff member.
    public var version: Int64
    public var apps: [App]
    /// The keys whose signatures on access tokens of end users and staff are currently accepted.
    public var signingKeys: [SigningKey]
    /// All staff members who are not disabled. Whether a member must choose a new password is in their token.
    public var staff: [StaffGrant]

    public init(version: Int64, apps: [App], signingKeys: [SigningKey] = [], staff: [StaffGrant] = []) {
        self.version = version
        self.apps = apps
        self.signingKeys = signingKeys
        self.staff = staff
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        version = try container.decode(Int64.self, forKey: .version)
        apps = try container.decode([App].self, forKey: .apps)
        // A copy on disk may predate users or staff.
        signingKeys = try container.decodeIfPresent([SigningKey].self, forKey: .signingKeys) ?? []
        staff = try container.decodeIfPresent([StaffGrant].self, forKey: .staff) ?? []
    }

    /// The public half of a key for ES256 (RFC 7518 §3.4).
    public struct SigningKey: Codable, Sendable, Equatable {
        /// The `kid` of its tokens.
        public var id: String
        /// The uncompressed P-256 point (X9.63, 65 bytes), in base64url.
        public var publicKey: String
        /// Tokens signed with this key are refused from this time on; nil if not yet known.
        public var expires: Date?

        public init(id: String, publicKey: String, expires: Date?) {
            self.id = id
            self.publicKey = publicKey
            self.expires = expires
        }
    }

    public struct App: Codable, Sendable, Equatable {
        /// Determines the app's schemas `app_<id>` and `app_<id>_test`: 1…32 of `a-z0-9`, starting with a letter.
        public var id: String
        /// A small integer for protocols that need one (Sentry's project number).
        public var number: Int
        public var name: String
        public var credentials: [Credential]

        public init(id: String, number: Int, name: String, credentials: [Credential]) {
            self.id = id
            self.number = number
            self.name = name
            self.credentials = credentials
        }
    }

    public struct Credential: Codable, Sendable, Equatable {
        public var id: String
        public var kind: CredentialKind
        /// The environment of a `client`, `ingest` or `evaluation` credential; nil for other kinds.
        public var environment: AppEnvironment?
        /// SHA-256 of the credential's UTF-8 bytes, 64 lower-case hex digits.
        public var sha256: String
        /// The credential is refused from this time on; nil if it is valid until revoked.
        public var expires: Date?
        /// The CIDR blocks from which the credential is accepted. Nil means anywhere, or the gateway's default for a
        /// `master` credential.
        public var networks: [String]?
        /// The scopes of a `master` or `secret` credential, as `KeyScope` writes them; nil for unlimited access.
        public var scopes: [String]?

        public init(
            id: String, kind: CredentialKind, environment: AppEnvironment?, sha256: String,
            expires: Date? = nil, networks: [String]? = nil, scopes: [String]? = nil
        ) {
            self.id = id
            self.kind = kind
            self.environment = environment
            self.sha256 = sha256
            self.expires = expires
            self.networks = networks
            self.scopes = scopes
        }
    }
}

/// When credentials were last used, as reported by gateways to `POST /internal/credentials/used`.
public struct CredentialUse: Codable, Sendable, Equatable {
    /// Credential id → time of the latest request with it.
    public var used: [String: Date]

    public init(used: [String: Date]) {
        self.used = used
    }
}
