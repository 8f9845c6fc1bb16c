public import Foundation

extension Files {
    /// Writes a file to disk as it arrives, so that its size does not matter.
    ///
    /// After a lost connection, the download resumes where it stopped. The destination appears, or is replaced, once
    /// the file is complete.
    public func download(
        _ path: String, to destination: URL, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws {
        let folder = destination.deletingLastPathComponent()
        let part = folder.appendingPathComponent(".\(destination.lastPathComponent).\(UUID().uuidString)")
        guard FileManager.default.createFile(atPath: part.path, contents: nil) else {
            throw MartletError(.fileFailed, "Could not write to \(folder.path).")
        }
        defer { try? FileManager.default.removeItem(at: part) }
        let file = try FileHandle(forWritingTo: part)
        defer { try? file.close() }
        var download = Download(path: path)
        var backoff = Backoff(clock: api.configuration.clock)
        var failures = 0
        while !download.isComplete {
            let before = download.received
            do {
                try await receive(&download, into: file, progress)
            } catch let error as MartletError where error.mayPass {
                if download.received > before {
                    backoff.reset()
                    failures = 0
                } else {
                    failures += 1
                }
                guard failures < api.configuration.retries.maximumAttempts else { throw error }
                try await backoff.wait(atLeast: error.retryAfter)
            }
        }
        guard rename(part.path, destination.path) == 0 else {
            throw MartletError(.fileFailed, "Could not write \(destination.path).")
        }
    }

    private struct Download {
        let path: String
        var received = 0
        /// The entity tag of the file to which the bytes so far belong.
        var entityTag: String?
        var total: Int?
        var isComplete = false
    }

    /// Receives until the end of the file or the loss of the connection.
    private func receive(
        _ download: inout Download, into file: FileHandle, _ progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws {
        var request = APIRequest("GET", Self.path("upload", download.path))
        request.maximumAttempts = 1
        // Lengths and ranges must count the bytes of the file, not of a compressed answer.
        request.headers["accept-encoding"] = "identity"
        if download.received > 0, let tag = download.entityTag {
            request.headers["range"] = "bytes=\(download.received)-"
            request.headers["if-match"] = tag
        }
        let stream: HTTPStream
        do {
            stream = try await api.stream(request, idleTimeout: 60)
        } catch let error as MartletError where error.code == .preconditionFailed {
            // The file was replaced meanwhile.
            download = Download(path: download.path)
            return
        }
        if stream.head.status != 206 {
            download.received = 0
            download.total = stream.head.headers["content-length"].flatMap { Int($0) }
        }
        download.entityTag = stream.head.headers["etag"]
        try truncate(file, to: download.received)
        for try await piece in stream.body {
            try write(piece, to: file)
            download.received += piece.count
            progress?(TransferProgress(completedBytes: download.received, totalBytes: download.total))
        }
        try Task.checkCancellation()
        if let total = download.total, download.received < total {
            throw MartletError(.connectionLost, "The connection ended early.")
        }
        download.isComplete = true
    }

    private func truncate(_ file: FileHandle, to size: Int) throws {
        do {
            try file.truncate(atOffset: UInt64(size))
        } catch {
            throw MartletError(.fileFailed, "Could not write the file.", underlyingError: error)
        }
    }

    private func write(_ data: Data, to file: FileHandle) throws {
        do {
            try file.write(contentsOf: data)
        } catch {
            throw MartletError(.fileFailed, "Could not write the file.", underlyingError: error)
        }
    }
}
