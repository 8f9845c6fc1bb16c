import Foundation
import MartletLogic
import Testing

@Suite struct JSONLogicTests {
    static let vectors =
        (ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? FileManager.default.currentDirectoryPath
            + "/../shared/vectors") + "/jsonlogic/compatible.json"

    @Test(
        "All published cases of JsonLogic give the published results",
        .enabled(if: FileManager.default.fileExists(atPath: vectors)))
    func published() throws {
        guard case .array(let entries) = try LogicValue(json: Data(contentsOf: URL(filePath: Self.vectors))) else {
            throw CocoaError(.coderReadCorrupt)
        }
        var count = 0
        for case .object(let entry) in entries {
            let rule = try #require(entry["rule"])
            let result = try JSONLogic(rule).evaluate(entry["data"] ?? .null)
            #expect(result == entry["result"], "\(rule.json) with \((entry["data"] ?? .null).json)")
            count += 1
        }
        #expect(count == 278)
    }

    struct Case: CustomTestStringConvertible {
        var rule: String
        var data = "null"
        var result: String

        var testDescription: String { "\(rule) of \(data)" }
    }

    @Test(
        "Values are coerced as in JavaScript",
        arguments: [
            Case(rule: #"{"==":[null,0]}"#, result: "false"),
            Case(rule: #"{"==":["",0]}"#, result: "true"),
            Case(rule: #"{"==":[[1],"1"]}"#, result: "true"),
            Case(rule: #"{"==":[" 0x10 ",16]}"#, result: "true"),
            Case(rule: #"{"==":["1e3",1000]}"#, result: "true"),
            Case(rule: #"{"==":["nan","nan"]}"#, result: "true"),
            Case(rule: #"{"==":["inf",1]}"#, result: "false"),
            Case(rule: "{\"===\":[\"\u{e9}\",\"e\u{301}\"]}", result: "false"),
            Case(rule: #"{"<":["10","9"]}"#, result: "true"),
            Case(rule: #"{"<":["10",9]}"#, result: "false"),
            Case(rule: #"{"<":["x",1]}"#, result: "false"),
            Case(rule: #"{">=":[null,0]}"#, result: "true"),
            Case(rule: #"{"+":["3px","2.5e1x",null]}"#, result: "null"),
            Case(rule: #"{"+":["3px","2.5e1x"]}"#, result: "28"),
            Case(rule: #"{"/":[1,0]}"#, result: "null"),
            Case(rule: #"{"%":[-5,3]}"#, result: "-2"),
            Case(rule: #"{"cat":[1.0,null,[1,[2,null]],true,1e21,-0.0000001]}"#, result: #""11,2,true1e+21-1e-7""#),
            Case(rule: #"{"substr":["\#u{1f600}ab",2]}"#, result: #""ab""#),
            Case(rule: #"{"substr":["jsonlogic",-5,-2]}"#, result: #""log""#),
            Case(rule: #"{"in":["","abc"]}"#, result: "true"),
            Case(rule: #"{"in":["1",[1,2]]}"#, result: "false"),
            Case(rule: #"{"!!":"0"}"#, result: "true"),
            Case(rule: #"{"!!":[[]]}"#, result: "false"),
            Case(rule: #"{"var":["a.1.b","none"]}"#, data: #"{"a":[0,{"b":7}]}"#, result: "7"),
            Case(rule: #"{"var":["a.9.b","none"]}"#, data: #"{"a":[0,{"b":7}]}"#, result: #""none""#),
            Case(rule: #"{"if":[]}"#, result: "null"),
        ])
    func coercion(_ test: Case) throws {
        #expect(try JSONLogic(LogicValue(json: test.rule)).evaluate(LogicValue(json: test.data)).json == test.result)
    }

    @Test("An unknown operation is reported with its place, before anything is evaluated")
    func unknownOperation() throws {
        let rule = try LogicValue(json: #"{"if":[true,1,{"no/pe":[{"var":"a"}]}]}"#)
        #expect(throws: LogicError.unknownOperation(name: "no/pe", path: "/if/2/no~1pe")) { try JSONLogic(rule) }
    }

    @Test("A host's own operation is called with evaluated arguments, and its failure names it")
    func ownOperation() throws {
        struct Refusal: Error {}
        var operations = LogicOperations.standard
        operations["double"] = { arguments in
            guard let number = arguments.first?.number, !number.isNaN else { throw Refusal() }
            return .number(number * 2)
        }
        let rule = try JSONLogic(["double": [["var": "n"]]], operations: operations)
        #expect(try rule.evaluate(["n": 21]) == 42)
        #expect(throws: LogicError.operationFailed(name: "double", reason: "Refusal()")) {
            try rule.evaluate(["n": "many"])
        }
    }

    @Test("A rule that is nested too deeply is not compiled")
    func depth() throws {
        var rule: LogicValue = true
        for _ in 0..<70 { rule = ["!": [rule]] }
        #expect { try JSONLogic(rule) } throws: { error in
            if case .tooDeep = error as? LogicError { true } else { false }
        }
        #expect(throws: Never.self) { try JSONLogic(rule, limits: LogicLimits(maximumDepth: 80)) }
    }

    @Test(
        "A rule that would grow without end is stopped",
        arguments: [
            // A text doubled 60 times, a list doubled 60 times, a list nested in itself 60 times, and nested loops.
            #"{"reduce":[{"var":""},{"cat":[{"var":"accumulator"},{"var":"accumulator"}]},"xxxxxxxx"]}"#,
            #"{"reduce":[{"var":""},{"merge":[{"var":"accumulator"},{"var":"accumulator"}]},[1]]}"#,
            #"{"reduce":[{"var":""},[{"var":"accumulator"},{"var":"accumulator"}],1]}"#,
            #"{"map":[{"var":""},{"map":[[1,2,3,4,5,6,7,8,9,10],{"map":[[1,2,3,4,5,6,7,8,9,10],{"map":[[1,2,3,4,5,6,7,8,9,10],{"map":[[1,2,3],1]}]}]}]}]}"#,
        ])
    func steps(_ rule: String) throws {
        let sixty = LogicValue.array(Array(repeating: 1, count: 60))
        #expect(throws: LogicError.tooManySteps(limit: 100_000)) {
            try JSONLogic(LogicValue(json: rule)).evaluate(sixty)
        }
    }
}
