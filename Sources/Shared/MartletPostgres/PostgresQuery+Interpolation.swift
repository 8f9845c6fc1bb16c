extension PostgresQuery: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self.init(unescaped: value)
    }

    public init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.query
    }

    public struct StringInterpolation: StringInterpolationProtocol {
        var query = PostgresQuery()

        public init(literalCapacity: Int, interpolationCount: Int) {
            query.text.reserveCapacity(literalCapacity)
            query.binds.reserveCapacity(interpolationCount)
            query.bytes.reserveCapacity(interpolationCount * 16)
        }

        public mutating func appendLiteral(_ literal: String) {
            query.text += literal
        }

        /// Binds a value.
        public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value) {
            query.bind(Value.postgresType) { value.encode(into: &$0) }
        }

        /// Binds a value, or NULL of the value's type.
        public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            if let value { appendInterpolation(value) } else { query.bindNull(Value.postgresType) }
        }

        /// Inserts the quoted name.
        public mutating func appendInterpolation(_ identifier: PostgresIdentifier) {
            query.text += identifier.quoted
        }

        /// Inserts a fragment with its parameters.
        public mutating func appendInterpolation(_ fragment: PostgresQuery) {
            query.append(fragment)
        }

        /// Inserts the number as text instead of binding it, so that PostgreSQL knows it when it plans for all values.
        public mutating func appendInterpolation(literal number: Int) {
            query.text += String(number)
        }

        /// Inserts text from the program's source code without escaping.
        public mutating func appendInterpolation(unescaped sql: StaticString) {
            query.append(unescaped: sql)
        }
    }
}
