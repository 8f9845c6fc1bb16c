/// The object identifier of a PostgreSQL type (`pg_type.oid`).
public struct PostgresType: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let bool = PostgresType(rawValue: 16)
    public static let bytea = PostgresType(rawValue: 17)
    public static let char = PostgresType(rawValue: 18)
    public static let name = PostgresType(rawValue: 19)
    public static let int8 = PostgresType(rawValue: 20)
    public static let int2 = PostgresType(rawValue: 21)
    public static let int4 = PostgresType(rawValue: 23)
    public static let text = PostgresType(rawValue: 25)
    public static let oid = PostgresType(rawValue: 26)
    public static let json = PostgresType(rawValue: 114)
    public static let xml = PostgresType(rawValue: 142)
    public static let float4 = PostgresType(rawValue: 700)
    public static let float8 = PostgresType(rawValue: 701)
    public static let unknown = PostgresType(rawValue: 705)
    public static let int4Array = PostgresType(rawValue: 1007)
    public static let textArray = PostgresType(rawValue: 1009)
    public static let int8Array = PostgresType(rawValue: 1016)
    public static let bpchar = PostgresType(rawValue: 1042)
    public static let varchar = PostgresType(rawValue: 1043)
    public static let date = PostgresType(rawValue: 1082)
    public static let timestamp = PostgresType(rawValue: 1114)
    public static let timestamptz = PostgresType(rawValue: 1184)
    public static let numeric = PostgresType(rawValue: 1700)
    public static let uuid = PostgresType(rawValue: 2950)
    public static let uuidArray = PostgresType(rawValue: 2951)
    public static let jsonb = PostgresType(rawValue: 3802)

    /// The first OID of types created after `initdb`: enums, domains and extension types.
    static let firstUserDefined: UInt32 = 16384

    /// Whether the binary format of a value is its text. For `jsonb` a version byte precedes the text; result rows omit
    /// it. All user-defined types are treated as text, which is right for enums and `citext`.
    var isText: Bool {
        switch self {
        case .text, .varchar, .bpchar, .name, .char, .json, .jsonb, .xml, .unknown: true
        default: rawValue >= Self.firstUserDefined
        }
    }
}
