public import Foundation

/// An upload that can be continued, even after the app was restarted. The server keeps it for a day after the last part
/// arrived.
public struct ResumableUpload: Sendable, Hashable, Codable {
    /// Where the file will be.
    public let path: String
    public let sizeInBytes: Int
    /// The upload's address, below the app's files.
    let location: String
}

extension Files {
    /// Stores a file from disk in parts (tus 1.0). After a lost connection, the upload resumes where it stopped.
    ///
    /// - Throws: ``MartletError`` if there is no connection for some time. To continue even then, or after a restart of
    ///   the app, use ``beginUpload(of:to:readers:writers:)`` and ``finish(_:from:progress:)``.
    @discardableResult
    public func upload(
        contentsOf file: URL, to path: String, readers: [Grantee]? = nil, writers: [Grantee]? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> FileRecord {
        let upload = try await beginUpload(of: file, to: path, readers: readers, writers: writers)
        return try await finish(upload, from: file, progress: progress)
    }

    /// Announces an upload. Keep the result, and call ``finish(_:from:progress:)`` with it until that succeeds.
    public func beginUpload(
        of file: URL, to path: String, readers: [Grantee]? = nil, writers: [Grantee]? = nil
    ) async throws -> ResumableUpload {
        let size = try Self.open(file).size
        var metadata = ["path \(Data(path.utf8).base64EncodedString())"]
        if let readers { metadata.append("readers \(Data(Self.list(readers).utf8).base64EncodedString())") }
        if let writers { metadata.append("writers \(Data(Self.list(writers).utf8).base64EncodedString())") }
        // An announcement whose answer was lost is forgotten after a day.
        var request = Self.tus("POST", "files/tus", repetition: .idempotent)
        request.headers["upload-length"] = String(size)
        request.headers["upload-metadata"] = metadata.joined(separator: ",")
        guard let location = try await api.send(request).headers["location"],
            let id = location.split(separator: "/").last
        else { throw MartletError(.unexpectedAnswer, "The answer has no address for the upload.") }
        return ResumableUpload(path: path, sizeInBytes: size, location: "files/tus/" + APIRequest.escape(String(id)))
    }

    /// Sends the part of the file that the server does not have yet.
    ///
    /// - Parameter file: The same file as when the upload began.
    /// - Throws: ``MartletError/Code/uploadNotFound`` if the server has forgotten the upload: begin again.
    @discardableResult
    public func finish(
        _ upload: ResumableUpload, from file: URL, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> FileRecord {
        let (handle, size) = try Self.open(file)
        defer { try? handle.close() }
        guard size == upload.sizeInBytes else {
            throw MartletError(.invalidArgument, "Expected a file of \(upload.sizeInBytes) bytes, found \(size).")
        }
        var sender = PartSender(upload: upload, offset: try await offset(of: upload))
        var backoff = Backoff(clock: api.configuration.clock)
        var failures = 0
        while sender.offset < size || (size == 0 && !sender.hasSent) {
            let before = sender.offset
            do {
                try await send(&sender, from: handle, progress)
                backoff.reset()
                failures = 0
            } catch let error as MartletError where error.mayPass || error.code == .conflict {
                sender.shrink()
                try await backoff.wait(atLeast: error.retryAfter)
                sender.offset = try await offset(of: upload)
                failures = sender.offset > before ? 0 : failures + 1
                guard failures < api.configuration.retries.maximumAttempts else { throw error }
            }
        }
        guard let record = try await record(of: upload.path) else {
            throw MartletError(.fileNotFound, "The upload is complete, but the user may not read the file.")
        }
        return record
    }

    /// Cancels an upload that is no longer wanted.
    public func cancel(_ upload: ResumableUpload) async throws {
        do {
            try await api.send(Self.tus("DELETE", upload.location, repetition: .idempotent))
        } catch let error as MartletError where error.isNotFound {
            return
        }
    }

    /// The number of bytes that the server has.
    private func offset(of upload: ResumableUpload) async throws -> Int {
        try Self.offset(try await api.send(Self.tus("HEAD", upload.location, repetition: .idempotent)), of: upload)
    }

    private static func offset(_ response: HTTPResponse, of upload: ResumableUpload) throws -> Int {
        guard let offset = response.headers["upload-offset"].flatMap({ Int($0) }),
            (0...upload.sizeInBytes).contains(offset)
        else { throw MartletError(.unexpectedAnswer, "Expected an upload offset from 0 to \(upload.sizeInBytes).") }
        return offset
    }

    private func send(
        _ sender: inout PartSender, from file: FileHandle, _ progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws {
        let start = sender.offset, total = sender.upload.sizeInBytes
        let part: Data
        do {
            try file.seek(toOffset: UInt64(start))
            part = try file.read(upToCount: sender.partSize) ?? Data()
        } catch {
            throw MartletError(.fileFailed, "Could not read the file.", underlyingError: error)
        }
        guard !part.isEmpty || total == 0 else { throw MartletError(.fileFailed, "The file has become shorter.") }
        // The loop in `finish` asks for the offset before it repeats anything.
        var request = Self.tus("PATCH", sender.upload.location, repetition: .onlyIfNotDone)
        request.maximumAttempts = 1
        request.headers["upload-offset"] = String(start)
        request.headers["content-type"] = "application/offset+octet-stream"
        request.body = part
        request.timeout = 60
        if let progress {
            // The last bytes of a part only count once the server has confirmed them.
            request.progress = { sent in
                guard sent < part.count else { return }
                progress(TransferProgress(completedBytes: start + Int(sent), totalBytes: total))
            }
        }
        let began = api.configuration.clock.now()
        let response = try await api.send(request)
        let confirmed = try Self.offset(response, of: sender.upload)
        guard confirmed > start || total == 0 else {
            throw MartletError(.unexpectedAnswer, "The server confirmed no more bytes than before.")
        }
        sender.offset = confirmed
        sender.hasSent = true
        progress?(TransferProgress(completedBytes: sender.offset, totalBytes: total))
        sender.adapt(to: api.configuration.clock.now().timeIntervalSince(began))
    }

    private static func tus(_ method: String, _ path: String, repetition: APIRequest.Repetition) -> APIRequest {
        var request = APIRequest(method, path, repetition: repetition)
        request.headers["tus-resumable"] = "1.0.0"
        return request
    }

    private static func open(_ file: URL) throws -> (handle: FileHandle, size: Int) {
        do {
            let handle = try FileHandle(forReadingFrom: file)
            return (handle, Int(try handle.seekToEnd()))
        } catch {
            throw MartletError(.fileFailed, "Could not read \(file.path).", underlyingError: error)
        }
    }
}

/// Determines the size of the next part: large if the network is fast, small if connections break.
struct PartSender {
    /// An upload has at most 1,000 parts and 100 MiB, so a part needs at least 105 kB.
    static let smallest = 128 << 10
    static let largest = 8 << 20

    let upload: ResumableUpload
    var offset: Int
    var partSize = 1 << 20
    /// An empty file has one empty part.
    var hasSent = false

    init(upload: ResumableUpload, offset: Int) {
        self.upload = upload
        self.offset = offset
    }

    mutating func adapt(to seconds: TimeInterval) {
        if seconds < 2 { partSize = min(partSize * 2, Self.largest) }
        if seconds > 10 { shrink() }
    }

    mutating func shrink() { partSize = max(partSize / 2, Self.smallest) }
}
