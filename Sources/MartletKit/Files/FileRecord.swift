public import Foundation

/// What the server knows about a stored file.
public struct FileRecord: Sendable, Hashable, Identifiable {
    public var id: String { path }
    /// The last part of the path.
    public let name: String
    public let path: String
    public let sizeInBytes: Int
    /// Determined from the bytes.
    public let contentType: String
    /// In hexadecimal digits.
    public let sha256: String
    public let created: Date?
    public let updated: Date?
    /// 1 at first, and one more with each upload to the path.
    public let version: Int
    public let readers: [Grantee]?
    public let writers: [Grantee]?
    /// Why the file cannot be read; nil if it can.
    public let state: State?
    /// Why the file was refused. Only its owner gets this.
    public let reason: String?

    /// The state of a file that cannot be read.
    public enum State: String, Sendable, Hashable {
        /// The app's own server is still checking it.
        case scanning
        /// It was refused, and its bytes are deleted.
        case refused
    }

    init(_ json: JSON) throws {
        guard let path = json["path"]?.stringValue, let size = json["size"]?.intValue else {
            throw MartletError(.unexpectedAnswer, "The answer is not the record of a file.")
        }
        self.path = path
        name = json["name"]?.stringValue ?? path
        sizeInBytes = size
        contentType = json["contentType"]?.stringValue ?? "application/octet-stream"
        sha256 = json["sha256"]?.stringValue ?? ""
        created = json["created"]?.dateValue
        updated = json["updated"]?.dateValue
        version = json["_version"]?.intValue ?? 1
        readers = Grantee.list(json["_readers"])
        writers = Grantee.list(json["_writers"])
        state = json["state"]?.stringValue.flatMap(State.init(rawValue:))
        reason = json["reason"]?.stringValue
    }
}

extension FileRecord {
    /// A reference for a field of an object.
    public var reference: FileReference { FileReference(name: name, url: path) }
}

/// The contents of a directory.
public struct DirectoryPage: Sendable {
    public let files: [FileRecord]
    /// The paths of the directories in the directory, each with a slash at the end.
    public let directories: [String]
    /// Where the next page begins; nil after the last one.
    public let next: String?
}

/// A smaller version of a picture. The operator may define others than these.
public struct ImageSize: Sendable, Hashable, RawRepresentable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let small = ImageSize(rawValue: "small")
    public static let medium = ImageSize(rawValue: "medium")
    public static let large = ImageSize(rawValue: "large")
}

/// The progress of a transfer.
public struct TransferProgress: Sendable, Hashable {
    public let completedBytes: Int
    /// Nil while the size is not known.
    public let totalBytes: Int?

    /// From 0 to 1; nil while the size is not known.
    public var fraction: Double? {
        totalBytes.map { $0 == 0 ? 1 : Double(completedBytes) / Double($0) }
    }
}
