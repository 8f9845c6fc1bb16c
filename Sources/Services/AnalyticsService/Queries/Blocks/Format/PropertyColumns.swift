import MartletCore

/// Collects what the events of one name have in their properties, one event after the other, path by path.
struct PropertyColumns {
    /// Different values of a path, paths, and bits that the places of all take for one event. What is beyond is asked
    /// of the events.
    static let maximumValues = 1_000
    static let maximumPaths = 64
    static let maximumBits = 32

    /// All paths that are not named, and all below those: with this one nothing is known of any.
    private static let all = ExactText("*"), allBelow = ExactText("*.*")

    fileprivate struct Column {
        var values = ExactTexts()
        /// As long as there were events with it.
        var places: [UInt32] = []
        var isKept = true
    }

    private var columns: [ExactText: Column] = [:]
    /// Paths that are not kept, as `block_properties` has them.
    private var others: Set<ExactText> = []
    private var count = 0
    private var isComplete = true

    /// - Parameter properties: nil: they are more than is read.
    mutating func add(_ properties: UnsafeRawBufferPointer?) {
        count += 1
        guard let properties else { return isComplete = false }
        let place = count
        PropertyScanner.scan(properties) { path, found in
            switch found {
            case .value(let value): change(path) { $0.add(value, place: place) }
            case .object: change(path) { $0.drop() }
            case .other where path == "*": others.insert(Self.all)
            case .other:
                change(path) { $0.drop() }
                others.insert(others.count < Self.maximumPaths ? ExactText(path + ".*") : Self.allBelow)
            }
        }
    }

    private mutating func change(_ path: String, _ body: (inout Column) -> Void) {
        let path = ExactText(path)
        guard columns.count < Self.maximumPaths || columns[path] != nil else {
            others.insert(Self.all)
            return
        }
        body(&columns[path, default: Column()])
    }

    /// Those with the fewest values first, as long as there is room.
    func contents() -> [(path: String, content: [UInt8]?)] {
        guard isComplete else { return [(Self.allBelow.text, nil)] }
        var bits = 0
        var contents: [(path: String, content: [UInt8]?)] = others.map { ($0.text, nil) }
        for (path, column) in columns.sorted(by: {
            ($0.value.values.texts.count, $0.key.text) < ($1.value.values.texts.count, $1.key.text)
        }) {
            let width = PackedNumbers.width(column.values.texts.count + 1)
            guard column.isKept, bits + width <= Self.maximumBits else {
                contents.append((path.text, nil))
                continue
            }
            bits += width
            let places = column.places + [UInt32](repeating: 0, count: count - column.places.count)
            contents.append((path.text, BlockColumn.content(column.values.texts, places: places)))
        }
        return contents
    }
}

extension PropertyColumns.Column {
    /// - Parameter place: of the event, from 1 on.
    fileprivate mutating func add(_ value: String, place: Int) {
        guard isKept else { return }
        if places.count < place - 1 { places.append(contentsOf: repeatElement(0, count: place - 1 - places.count)) }
        if let number = values.number(of: value, limit: PropertyColumns.maximumValues) {
            places.append(number)
        } else {
            drop()
        }
    }

    fileprivate mutating func drop() {
        (values, places, isKept) = (ExactTexts(), [], false)
    }
}
