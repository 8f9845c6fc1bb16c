import ArgumentParser
import OperatorCommands

@main
enum Main {
    static func main() async {
        await MartletCommand.main()
    }
}
