import MartletAPI
import MartletCore
import MartletFiles
import MartletPostgres

/// Why a file cannot be read.
enum FileState: String, Sendable {
    /// The app's scanner has not decided about it yet.
    case scanning
    /// It was refused, and its bytes are gone.
    case refused
}

extension FileStore {
    /// A file to be served.
    struct File: Sendable {
        var id: String
        var path: String
        var blob: BlobName
        var sizeInBytes: Int
        var sha256: String
        var contentType: String
        /// Nil if the file can be read.
        var state: FileState?

        /// The columns of a row of `_files` named `f` that `init` reads.
        static let columns: PostgresQuery = "f.id, f.path, f.blob, f.size, f.sha256, f.content_type, f.state"

        init(_ row: PostgresRow, of space: AppSchema) throws {
            id = try row.decode(0)
            path = try row.decode(1)
            blob = try FileStore.blob(row, 2, of: space)
            sizeInBytes = try row.decode(3)
            sha256 = try row.decode(4)
            contentType = try row.decode(5)
            state = try row.decode(6, as: String?.self).flatMap(FileState.init(rawValue:))
        }

        /// Takes the place of `id` in a link for the scanner, which only opens this version.
        var idForScanner: String { Self.idForScanner(of: blob) }

        static func idForScanner(of blob: BlobName) -> String { "scan:" + blob.id }

        /// - Throws: `file-scanning`, `file-refused`.
        func requireReadable(evenWhileScanning: Bool) throws {
            switch state {
            case nil: return
            case .scanning?:
                guard evenWhileScanning else {
                    throw ServiceError(.fileScanning, "The app's server has not checked this file yet.")
                }
            case .refused?: throw ServiceError(.fileRefused, "The app's server refused this file; it has no contents.")
            }
        }
    }
}
