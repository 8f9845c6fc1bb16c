import CLibPQ

/// The parameter arrays for libpq, reused for every query.
final class ParameterBuffer {
    private var capacity = 0
    private(set) var values = UnsafeMutablePointer<UnsafePointer<CChar>?>.allocate(capacity: 0)
    private(set) var lengths = UnsafeMutablePointer<Int32>.allocate(capacity: 0)
    private(set) var formats = UnsafeMutablePointer<Int32>.allocate(capacity: 0)
    private(set) var types = UnsafeMutablePointer<Oid>.allocate(capacity: 0)

    init() { reserve(16) }

    deinit { deallocate() }

    /// Fills the arrays and calls `body` with the number of parameters. The pointers into the query are valid only
    /// during the call.
    func with<R>(_ query: PostgresQuery, _ body: (Int32) -> R) -> R {
        if query.binds.count > capacity { reserve(query.binds.count) }
        return query.bytes.withUnsafeBytes { bytes in
            // libpq interprets a NULL pointer as NULL, so an empty value still needs an address.
            let base = bytes.baseAddress ?? emptyValue
            for (number, bind) in query.binds.enumerated() {
                types[number] = bind.type.rawValue
                let isNull = bind.length == PostgresBind.null
                values[number] = isNull ? nil : (base + Int(bind.offset)).assumingMemoryBound(to: CChar.self)
                lengths[number] = isNull ? 0 : bind.length
            }
            return body(Int32(query.binds.count))
        }
    }

    // Only the address is used; it is never dereferenced.
    private var emptyValue: UnsafeRawPointer { UnsafeRawPointer(values) }

    private func reserve(_ count: Int) {
        deallocate()
        capacity = count
        values = .allocate(capacity: count)
        lengths = .allocate(capacity: count)
        formats = .allocate(capacity: count)
        types = .allocate(capacity: count)
        // All values are in binary format.
        formats.initialize(repeating: 1, count: count)
    }

    private func deallocate() {
        values.deallocate()
        lengths.deallocate()
        formats.deallocate()
        types.deallocate()
    }
}
