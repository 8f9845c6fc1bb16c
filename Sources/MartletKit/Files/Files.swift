public import Foundation

extension Martlet {
    /// Files: pictures, sounds and other bytes.
    public var files: Files { Files(api: api) }
}

/// Stores files at paths such as `trips/rome.png`.
///
/// ```swift
/// try await martlet.files.upload(png, to: "trips/rome.png", writers: [.user(me)])
/// try await martlet.files.upload(contentsOf: movie, to: "trips/rome.mov") { print($0.fraction ?? 0) }
/// let thumbnail = try await martlet.files.data(at: "trips/rome.png", size: .small)
/// try await martlet.files.download("trips/rome.mov", to: destination)
/// ```
///
/// Everyone who has the app can read a file without readers, and replace a file without writers. A file can be at most
/// 100 MiB.
public struct Files: Sendable {
    let api: APIClient

    static func path(_ prefix: String, _ path: String) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { APIRequest.escape(String($0)) }
        return ([prefix] + parts).joined(separator: "/")
    }

    // MARK: Uploads

    /// Stores bytes as a file, in one request. For large files use ``upload(contentsOf:to:readers:writers:progress:)``.
    ///
    /// - Parameters:
    ///   - readers: Who may read it; nil: everyone, or as before if the file exists.
    ///   - writers: Who may replace and delete it; nil: everyone, or as before if the file exists.
    ///   - replaces: Whether an existing file gets a new version. If not, the call throws
    ///     ``MartletError/Code/preconditionFailed`` for it.
    @discardableResult
    public func upload(
        _ data: Data, to path: String, readers: [Grantee]? = nil, writers: [Grantee]? = nil, replaces: Bool = true,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> FileRecord {
        // At worst, storing the same bytes again creates another version.
        var request = APIRequest("PUT", Self.path("upload", path), repetition: replaces ? .idempotent : .onlyIfNotDone)
        request.body = data
        request.headers["content-type"] = "application/octet-stream"
        if !replaces { request.headers["if-none-match"] = "*" }
        if let readers { request.query.append(("readers", Self.list(readers))) }
        if let writers { request.query.append(("writers", Self.list(writers))) }
        // Twice the duration at the slowest rate that the server accepts.
        request.timeout = max(api.configuration.timeout, Double(data.count) / 2_048)
        if let progress {
            request.progress = { progress(TransferProgress(completedBytes: Int($0), totalBytes: data.count)) }
        }
        return try FileRecord(await api.json(request))
    }

    static func list(_ grantees: [Grantee]) -> String { grantees.map(\.rawValue).joined(separator: ",") }

    // MARK: Downloads

    /// The bytes of a file, or a smaller version of a picture.
    ///
    /// - Throws: ``MartletError/Code/fileNotFound``; ``MartletError/Code/imageRefused`` if there is no smaller version.
    public func data(at path: String, size: ImageSize? = nil) async throws -> Data {
        var request = APIRequest("GET", Self.path("upload", path))
        if let size { request.query = [("thumbnail", size.rawValue)] }
        request.timeout = max(api.configuration.timeout, 120)
        return try await api.send(request).body
    }

    // MARK: Records

    /// What the server knows about a file; nil if there is none or the user may not read it.
    public func record(of path: String) async throws -> FileRecord? {
        var request = APIRequest("GET", Self.path("upload", path))
        request.query = [("info", "true")]
        do {
            return try FileRecord(await api.json(request))
        } catch let error as MartletError where error.isNotFound {
            return nil
        }
    }

    /// The files and directories in a directory, at most 1,000 at once. The root is `""`.
    public func list(_ directory: String, limit: Int = 100, after position: String? = nil) async throws -> DirectoryPage
    {
        let path = directory.isEmpty || directory.hasSuffix("/") ? directory : directory + "/"
        var request = APIRequest("GET", path.isEmpty ? "upload" : Self.path("upload", path))
        request.query = [("limit", String(limit))] + (position.map { [("after", $0)] } ?? [])
        let answer = try await api.json(request)
        let entries = answer["data"]?.arrayValue ?? []
        return DirectoryPage(
            files: try entries.filter { $0["isDirectory"] != true }.map(FileRecord.init),
            directories: entries.filter { $0["isDirectory"] == true }.compactMap { $0["path"]?.stringValue },
            next: answer["next"]?.stringValue)
    }

    /// Sets who may read and who may replace a file. Nil keeps the present list; `[.everyone]` admits everyone.
    public func setAccess(of path: String, readers: [Grantee]?, writers: [Grantee]?) async throws {
        let body: JSON = ["_readers": Grantee.json(readers), "_writers": Grantee.json(writers)]
        try await api.send(APIRequest("PATCH", Self.path("upload", path), json: body, repetition: .idempotent))
    }

    /// Deletes a file. Succeeds if it does not exist.
    public func delete(_ path: String) async throws {
        do {
            try await api.send(APIRequest("DELETE", Self.path("upload", path), repetition: .idempotent))
        } catch let error as MartletError where error.code == .fileNotFound {
            return
        }
    }

    /// A temporary address that opens the file without the app's secret, for example in a web view. It works until it
    /// expires, even if the file's readers change.
    ///
    /// - Parameter seconds: 1 to 604,800, a week.
    public func link(to path: String, expiresIn seconds: Int, size: ImageSize? = nil) async throws -> URL {
        let body = JSON.members([
            "expiresInSeconds": .number(JSONNumber(seconds)), "thumbnail": (size?.rawValue).map(JSON.string),
        ])
        let answer = try await api.json(
            APIRequest("POST", Self.path("upload-link", path), json: body, repetition: .idempotent))
        guard let path = answer["path"]?.stringValue,
            let root = APIRequest("GET", "").url(under: api.configuration.url, appKey: api.configuration.appKey),
            let url = URL(string: root.absoluteString + path)
        else { throw MartletError(.unexpectedAnswer, "The answer has no link.") }
        return url
    }
}
