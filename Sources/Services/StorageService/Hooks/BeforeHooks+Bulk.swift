import MartletAPI
import MartletCore
import MartletPostgres
import NIOCore

/// Bulk posts: hooks are called for each object before anything is written.
extension BeforeHooks {
    /// The number of concurrent calls. With 1,000 objects each may take 160 ms, and all are still answered within
    /// `HookSettings.totalTime`.
    static let bulkWidth = 8

    /// Returns the array as changed by the hooks.
    ///
    /// - Throws: `hook-refused`, `hook-failed` and the other errors of `callHooks`, naming the object by its index; the
    ///   first refusal ends the call. Also the errors of `Documents` for objects that the hooks return.
    func documentsToSave(_ body: ByteBuffer, in scope: QueryScope) async throws -> Documents {
        let sent = try Documents(body)
        try scope.access.require(.create)
        let objects = try sent.each()
        let deadline = ContinuousClock.now + settings.totalTime
        let results = try await withThrowingTaskGroup(of: (Int, ByteBuffer).self) { group in
            var (results, next, size) = ([ByteBuffer?](repeating: nil, count: objects.count), 0, 0)
            func startNext() {
                guard next < objects.count else { return }
                let (number, object) = (next, objects[next])
                next += 1
                group.addTask { (number, try await self.callHooks(for: object, number, in: scope, until: deadline)) }
            }
            for _ in 0..<Self.bulkWidth { startNext() }
            while let (number, object) = try await group.next() {
                size += object.readableBytes
                guard size <= Document.maximumBatchSizeInBytes else {
                    throw ServiceError(
                        .hookFailed,
                        "The hooks returned objects of more than \(Document.maximumBatchSizeInBytes) bytes in all.")
                }
                results[number] = object
                startNext()
            }
            return results.compactMap(\.self)
        }
        var array = ByteBuffer()
        array.writeString("[")
        for (number, object) in results.enumerated() {
            if number > 0 { array.writeString(",") }
            array.writeImmutableBuffer(object)
        }
        array.writeString("]")
        var made = try Documents(array)
        made.touched.keep(sent.touched)
        return made
    }

    private func callHooks(
        for object: ByteBuffer, _ number: Int, in scope: QueryScope, until deadline: ContinuousClock.Instant
    ) async throws -> ByteBuffer {
        do {
            let write = try await callHooks(
                for: .create(try Document(object), mustBeNew: false), in: scope, until: deadline)
            return write.document.map { ByteBuffer(bytes: $0.json.bytes) } ?? object
        } catch let problem as ServiceError {
            throw problem.within("\(number)")
        }
    }
}

extension Documents {
    /// The text of each object.
    fileprivate func each() throws -> [ByteBuffer] {
        var objects: [ByteBuffer] = []
        try Documents.forEach(of: json.bytes) { _, range in objects.append(ByteBuffer(bytes: json.bytes[range])) }
        return objects
    }
}
