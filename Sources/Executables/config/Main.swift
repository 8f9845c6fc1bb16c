import ConfigService
import MartletHTTP

@main
enum Main {
    static func main() async {
        await ServiceProcess.run(ConfigService.self)
    }
}
