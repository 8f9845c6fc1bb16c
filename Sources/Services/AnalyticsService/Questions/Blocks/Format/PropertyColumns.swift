/// Collects what the events of one name have in their properties, one event after the other, path by path.
struct PropertyColumns {
    /// Different values of a path, paths, and bits that the places of all take for one event. What is beyond is asked of the events.
    static let maximumValues = 1_000
    static let maximumPaths = 64
    static let maximumBits = 32

    fileprivate struct Column {
        var numbers: [String: UInt32] = [:]
        var values: [String] = []
        /// As long as there were events with it.
        var places: [UInt32] = []
        var isKept = true
    }

    private var columns: [String: Column] = [:]
    /// Paths that are not kept, as `block_properties` has them.
    private var others: Set<String> = []
    private var count = 0

    mutating func add(_ properties: UnsafeRawBufferPointer?) {
        count += 1
        guard let properties else { return }
        PropertyScanner.scan(properties) { path, found in
            switch found {
            case .value(let value): add(value, at: path)
            case .object: drop(path)
            case .other:
                if path == "*" {
                    others.insert("*")
                } else {
                    drop(path)
                    if others.count < Self.maximumPaths { others.insert(path + ".*") } else { others.insert("*.*") }
                }
            }
        }
    }

    private mutating func add(_ value: String, at path: String) {
        guard columns.count < Self.maximumPaths || columns[path] != nil else {
            others.insert("*")
            return
        }
        columns[path, default: Column()].add(value, place: count)
    }

    private mutating func drop(_ path: String) {
        guard columns.count < Self.maximumPaths || columns[path] != nil else {
            others.insert("*")
            return
        }
        columns[path, default: Column()].drop()
    }

    /// Those with the fewest values first, as long as there is room.
    func contents() -> [(path: String, content: [UInt8]?)] {
        var bits = 0
        var contents: [(path: String, content: [UInt8]?)] = others.sorted().map { ($0, nil) }
        for (path, column) in columns.sorted(by: { ($0.value.values.count, $0.key) < ($1.value.values.count, $1.key) }) {
            let width = PackedNumbers.width(column.values.count + 1)
            guard column.isKept, bits + width <= Self.maximumBits else {
                contents.append((path, nil))
                continue
            }
            bits += width
            contents.append((path, BlockColumn.content(column.values, places: column.places + [UInt32](repeating: 0, count: count - column.places.count))))
        }
        return contents
    }
}

extension PropertyColumns.Column {
    /// - Parameter place: of the event, from 1 on.
    fileprivate mutating func add(_ value: String, place: Int) {
        guard isKept else { return }
        if places.count < place - 1 { places.append(contentsOf: repeatElement(0, count: place - 1 - places.count)) }
        if let number = numbers[value] {
            places.append(number)
        } else if values.count < PropertyColumns.maximumValues {
            values.append(value)
            numbers[value] = UInt32(values.count)
            places.append(UInt32(values.count))
        } else {
            drop()
        }
    }

    fileprivate mutating func drop() {
        (numbers, values, places, isKept) = ([:], [], [], false)
    }
}
