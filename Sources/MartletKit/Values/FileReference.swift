/// A file that a field of an object refers to. The bytes are stored in ``Files``.
public struct FileReference: Sendable, Hashable {
    /// The file's name, to be shown to users.
    public var name: String
    /// Where the file is: its path in ``Files``, or an address elsewhere.
    public var url: String

    public init(name: String, url: String) {
        self.name = name
        self.url = url
    }

    /// A file stored in ``Files`` at this path.
    public init(path: String) {
        self.init(name: path.split(separator: "/").last.map(String.init) ?? path, url: path)
    }
}

extension FileReference: Codable {
    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case name, url
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        url = try container.decode(String.self, forKey: .url)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("File", forKey: .type)
        try container.encode(name, forKey: .name)
        try container.encode(url, forKey: .url)
    }
}
