public import Foundation

/// What a credential opens.
public enum CredentialKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// An app key: names the app and its environment in the path, useless without a secret.
    case client
    /// The secret sent in `X-Martlet-Secret`; any live secret of an app opens any live app key of it.
    case secret
    /// Write-only events and crashes, for protocols whose clients cannot set headers.
    case ingest
    /// Read-only feature flags, for the same reason.
    case evaluation
    /// Server-to-server calls from allowed networks; stands in for a secret and opens management.
    case master
}

/// Every app with its live credentials, as `auth` hands it to gateways.
///
/// Wire shape of `GET /internal/keyring`. Holds SHA-256 digests only: a leaked copy opens nothing.
public struct KeyRing: Codable, Sendable, Equatable {
    /// Grows with every change of an app, a credential, a signing key or a staff member.
    public var version: Int64
    public var apps: [App]
    /// What access tokens of end users and staff may be signed with now.
    public var signingKeys: [SigningKey]
    /// All who are not disabled. Whether somebody must choose another password their token says.
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
        // A copy on disk may be of the time before there were users, or staff.
        signingKeys = try container.decodeIfPresent([SigningKey].self, forKey: .signingKeys) ?? []
        staff = try container.decodeIfPresent([StaffGrant].self, forKey: .staff) ?? []
    }

    /// The public half of a key for ES256 (RFC 7518 §3.4).
    public struct SigningKey: Codable, Sendable, Equatable {
        /// `kid` of the tokens.
        public var id: String
        /// The point of P-256, uncompressed (X9.63, 65 bytes), in base64url.
        public var publicKey: String
        /// No token signed with it is good from this time on; nil: not yet known.
        public var expires: Date?

        public init(id: String, publicKey: String, expires: Date?) {
            self.id = id
            self.publicKey = publicKey
            self.expires = expires
        }
    }

    public struct App: Codable, Sendable, Equatable {
        /// Names the app's schemas `app_<id>` and `app_<id>_test`; 1…32 of `a-z0-9`, a letter first.
        public var id: String
        /// Small integer for protocols that need one (Sentry's project number).
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
        /// The environment a `client`, `ingest` or `evaluation` credential belongs to; nil for the others.
        public var environment: AppEnvironment?
        /// SHA-256 of the credential's UTF-8 bytes, 64 lower-case hex digits.
        public var sha256: String
        /// Refused from this time on; nil: until revoked.
        public var expires: Date?
        /// CIDR blocks it may come from; nil: from everywhere, or for a `master` credential the gateway's default.
        public var networks: [String]?
        /// What a `master` or `secret` credential opens, as `KeyScope` writes it; nil: everything.
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

/// When credentials were last presented, as gateways report it to `POST /internal/credentials/used`.
public struct CredentialUse: Codable, Sendable, Equatable {
    /// Credential id → time of the latest request that used it.
    public var used: [String: Date]

    public init(used: [String: Date]) {
        self.used = used
    }
}
